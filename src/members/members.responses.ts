import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

export const PACKAGE_KINDS = ['npm', 'pypi', 'oci', 'nuget'] as const;
export type PackageKind = (typeof PACKAGE_KINDS)[number];

/** A package in a launch command. */
export class MemberPackage {
  @ApiProperty({ enum: PACKAGE_KINDS, enumName: 'PackageKind' })
  readonly registryType: PackageKind;

  /** The name as written, except that PyPI names are normalized */
  @ApiProperty({ example: '@modelcontextprotocol/server-memory' })
  readonly identifier: string;

  @ApiPropertyOptional({ description: 'Absent for `latest`, and for images, whose identifier contains it' })
  readonly version?: string;
}

export class MemberLspServer {
  readonly name: string;
  readonly packages?: MemberPackage[];

  /** The program and its arguments, quoted for a POSIX shell */
  @ApiPropertyOptional({ example: 'npx -y @modelcontextprotocol/server-memory' })
  readonly command?: string;
}

export class MemberServer extends MemberLspServer {
  /** As written */
  readonly url?: string;
}

export class MemberSkill {
  readonly name: string;
  readonly description: string;
}

export class MemberHook {
  /** The client's name for the event, or `monitors` */
  @ApiProperty({ example: 'PreToolUse' })
  readonly event: string;

  readonly packages?: MemberPackage[];

  /** As written */
  readonly command?: string;
}

/** The members that clients find in the content of a version (reference/members). Empty lists are omitted. */
export class Members {
  readonly servers?: MemberServer[];
  readonly skills?: MemberSkill[];
  readonly commands?: string[];
  readonly agents?: string[];
  readonly hooks?: MemberHook[];
  readonly lsp?: MemberLspServer[];

  /** Paths of the files in `bin/`: programs for the client's shell */
  readonly executables?: string[];

  /** Paths of files that could not be read reliably: every rule about members matches them */
  readonly unreadable?: string[];
}
