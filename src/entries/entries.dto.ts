import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Allow, IsIn, IsOptional, MaxLength } from 'class-validator';
import { type Claims, CLAIMS_SCHEMA } from '../claims/claims.js';
import { isProse } from '../documents/document-problem.js';
import { DOCUMENT_FORMATS } from '../documents/document-rules.js';
import { ENTRY_TYPE_NAMES, ENTRY_TYPES, type EntryType } from '../documents/entry-types.js';
import { STATUSES, statusesOf } from '../documents/statuses.js';
import { AdminListParameters } from '../http/lists.dto.js';
import { documentClassOf } from '../http/openapi/document-classes.js';
import { type Unchecked, ValidateClass } from '../validation/class-validation.js';
import { decoratorFor, IsClaims, IsFlag, IsStorable, MayBeEmpty } from '../validation/decorators.js';
import { type Issue, issue } from '../validation/value-checks.js';

/** The message is shown with the document, so the rules for descriptions apply to it (reference/documents). */
const IsProse = decoratorFor(
  'isProse',
  (value) => typeof value === 'string' && isProse(value),
  `${DOCUMENT_FORMATS['prose']?.rule}`,
);
/** Maximum characters of a name to look for; names are shorter. */
const MAX_ASKED_NAME = 300;

/** A document under the name of its type (properties added below), with its claims. */
@ValidateClass<PublishBody>(oneDocument)
export class PublishBody {
  readonly [type: string]: unknown;

  /** Strings or lists of strings; later versions must have the same claims as the first. */
  @ApiPropertyOptional(CLAIMS_SCHEMA) @IsOptional() @IsClaims() claims?: Claims;
}

for (const type of ENTRY_TYPE_NAMES) {
  const description = `A ${type} document. Exactly one of ${ENTRY_TYPE_NAMES.join(', ')} is required`;
  ApiPropertyOptional({ type: documentClassOf(type), description })(PublishBody.prototype, type);
  Allow()(PublishBody.prototype, type);
}

export class ClaimsBody {
  /** An empty map clears the claims. */
  @ApiProperty(CLAIMS_SCHEMA) @IsClaims() claims: Claims;
}

export class StatusBody {
  @ApiProperty({ enum: [...STATUSES], description: describeStatuses() })
  @IsStorable()
  status: string;

  /** Shown with the status. */
  @IsOptional() @IsStorable() @MaxLength(500) @IsProse() statusMessage?: string;
}

/** Describes the body of routes that are only for servers. */
export class ServerStatusBody extends StatusBody {
  @ApiProperty({ enum: [...statusesOf('server')] })
  declare status: string;
}

export class EntriesQuery extends AdminListParameters {
  @MayBeEmpty() @IsIn(ENTRY_TYPE_NAMES) type?: EntryType | '';

  /** Exactly this name */
  @ApiPropertyOptional({ example: 'io.github.example/weather' })
  @IsOptional()
  @IsStorable()
  @MaxLength(MAX_ASKED_NAME)
  name?: string;
}

export class PublishQuery {
  /** Validates without writing */
  @IsOptional() @IsFlag() dry_run?: string;
}

/** Returns the types of the documents in a body. A validated body has exactly one. */
export function typesIn(body: Unchecked<PublishBody>): EntryType[] {
  return ENTRY_TYPE_NAMES.filter((type) => body[type] !== undefined);
}

function oneDocument(body: Unchecked<PublishBody>): Issue[] {
  const types = typesIn(body);
  if (types.length === 1) return [];
  const found = types.length === 0 ? 'none' : types.join(' and ');
  return issue(`must have exactly one of ${ENTRY_TYPE_NAMES.join(', ')}, not ${found}`);
}

function describeStatuses(): string {
  return ENTRY_TYPE_NAMES.map((type) => `${ENTRY_TYPES[type].listKey}: ${statusesOf(type).join(', ')}`).join(
    '; ',
  );
}

/** Example bodies for `POST /v1/entries`, one per type. */
export const PUBLISH_EXAMPLES: Record<EntryType, { summary: string; value: PublishBody }> = {
  server: {
    summary: 'A server',
    value: {
      server: {
        $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
        name: 'io.github.example/weather',
        description: 'Forecasts and warnings for any place',
        version: '1.2.0',
        remotes: [{ type: 'streamable-http', url: 'https://weather.example.com/mcp' }],
      },
      claims: { org: 'acme', team: ['platform'] },
    },
  },
  skill: {
    summary: 'A skill',
    value: {
      skill: {
        namespace: 'io.github.example',
        name: 'code-review',
        description: 'Reviews a change for faults before it is merged',
        version: '1.0.0',
        packages: [
          { registryType: 'git', url: 'https://github.com/example/skills', subfolder: 'code-review' },
        ],
      },
      claims: { org: 'acme', team: ['platform'] },
    },
  },
  plugin: {
    summary: 'A plugin',
    value: {
      plugin: {
        namespace: 'io.github.example',
        name: 'code-review',
        description: 'Commands and skills for reviews',
        version: '1.0.0',
        packages: [{ registryType: 'oci', identifier: 'ghcr.io/example/code-review:1.0.0' }],
      },
      claims: { org: 'acme', team: ['platform'] },
    },
  },
};
