import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { CLAIMS_SCHEMA } from '../claims/claim-rules.js';
import type { Claims } from '../claims/claims.js';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { isDeeperThan } from '../json/json-text.js';
import { isObject } from '../json/json-values.js';
import { Checked, Optional, Section } from '../validation/class-checks.js';
import { type Issue, issue } from '../validation/problems.js';
import {
  claims,
  emptyOr,
  foundKind,
  oneOf,
  storableText,
  textParameter,
  textUpTo,
  wordParameter,
} from '../validation/value-checks.js';
import { type Action, ACTIONS } from './question.js';

const MAX_NAME = 500;
/** Of the claims of a token that somebody makes up: larger ones than a header has room for tell nothing. */
const MAX_HELD = 200;
const MAX_HELD_BYTES = 64 * 1_024;
const MAX_HELD_DEPTH = 20;

export class AskedEntryBody {
  @ApiProperty({ enum: ENTRY_TYPE_NAMES })
  @Checked(oneOf(...ENTRY_TYPE_NAMES))
  type: EntryType;

  @ApiProperty({ description: 'Of a skill, `namespace/name`', example: 'io.github.example/weather' })
  @Checked(textUpTo(MAX_NAME))
  name: string;

  @ApiPropertyOptional({ description: 'One exact version; the latest when absent' })
  @Optional()
  @Checked(textUpTo(MAX_NAME))
  version?: string;
}

export class AssumedCallerBody {
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description: 'The claims that count here, as `GET /v1/me?claims=true` shows those of a caller',
    example: { sub: 'alice', org: 'acme', team: ['platform'] },
  })
  @Checked(heldClaims)
  claims: Readonly<Record<string, unknown>>;
}

export class ExplainBody {
  @ApiProperty({ example: 'default' })
  @Checked(storableText)
  registry: string;

  @ApiPropertyOptional({ type: () => AskedEntryBody })
  @Optional()
  @Section(() => AskedEntryBody)
  entry?: AskedEntryBody;

  @ApiPropertyOptional({ enum: ACTIONS, default: 'see' })
  @Optional()
  @Checked(oneOf(...ACTIONS))
  action?: Action;

  @ApiPropertyOptional({
    type: () => AssumedCallerBody,
    description: 'Somebody else who is asked about, for those who manage something; otherwise the caller',
  })
  @Optional()
  @Section(() => AssumedCallerBody)
  as?: AssumedCallerBody;

  @ApiPropertyOptional({
    ...CLAIMS_SCHEMA,
    description: 'Of `publish`: the claims of the entry; when absent, those that the registry publishes with',
  })
  @Optional()
  @Checked(claims)
  claims?: Claims;
}

export class PreviewBody {
  @ApiProperty({ example: 'default' })
  @Checked(storableText)
  registry: string;

  @ApiProperty({ type: () => AssumedCallerBody })
  @Section(() => AssumedCallerBody)
  as: AssumedCallerBody;

  @ApiPropertyOptional({
    enum: ENTRY_TYPE_NAMES,
    default: 'server',
    description: 'Of which the first page is shown',
  })
  @Optional()
  @Checked(oneOf(...ENTRY_TYPE_NAMES))
  type?: EntryType;
}

export class RegistryAccessQuery {
  @ApiPropertyOptional({ enum: ENTRY_TYPE_NAMES, default: 'server' })
  @Optional()
  @Checked(emptyOr(wordParameter(ENTRY_TYPE_NAMES)))
  type?: string;

  @ApiPropertyOptional({
    description: 'The name of one entry; the whole registry when absent',
    maxLength: MAX_NAME,
  })
  @Optional()
  @Checked(textParameter('the name of an entry', MAX_NAME))
  entry?: string;
}

/** Any JSON, as in a token (contract §5): what of it can be compared is for the matcher to say. */
function heldClaims(value: unknown): Issue[] {
  if (!isObject(value)) return issue(`must be a map of claims, not ${foundKind(value)}`);
  if (Object.keys(value).length > MAX_HELD) return issue(`must not hold more than ${MAX_HELD} claims`);
  const text = Buffer.from(JSON.stringify(value));
  if (text.length > MAX_HELD_BYTES) return issue(`must not be longer than ${MAX_HELD_BYTES} bytes`);
  return isDeeperThan(text, MAX_HELD_DEPTH)
    ? issue(`must not be nested deeper than ${MAX_HELD_DEPTH} levels`)
    : [];
}
