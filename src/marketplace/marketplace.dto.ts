import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Allow, IsIn } from 'class-validator';
import { MayBeEmpty } from '../validation/decorators.js';

export class UploadPackQuery {
  @Allow() service?: string;
}

export class MarketplaceOwner {
  name: string;
}

const SOURCE_KINDS = ['git', 'archive'] as const;
export type PluginSourceKind = (typeof SOURCE_KINDS)[number];

export class MarketplaceQuery {
  @ApiPropertyOptional({
    enum: SOURCE_KINDS,
    default: 'git',
    description:
      'Where clients fetch the plugins: from the repository, or as zip files, with the headers of this request',
  })
  @MayBeEmpty()
  @IsIn(SOURCE_KINDS)
  source?: PluginSourceKind | '';
}

/** Where a client fetches a plugin from: a directory of a Git repository, or a zip file. */
export class PluginSource {
  @ApiProperty({ enum: ['git-subdir', 'archive'] })
  source: string;

  @ApiProperty({ example: 'https://registry.example.com/registry/default/git/marketplace.git' })
  url: string;

  @ApiPropertyOptional({ example: 'plugins/io-github-example-deploy' })
  path?: string;
}

export class PluginAnswer {
  @ApiProperty({
    example: 'io-github-example-deploy',
    description:
      'The namespace with hyphens, a hyphen, and the name; over 64 characters, its beginning and a digest',
  })
  name: string;
  source: PluginSource;
  description: string;
  version: string;
}

/** The marketplace file of Claude Code: https://code.claude.com/docs/en/plugins/marketplace-reference */
export class MarketplaceAnswer {
  name: string;
  owner: MarketplaceOwner;
  plugins: PluginAnswer[];
}
