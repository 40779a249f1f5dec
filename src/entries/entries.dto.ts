import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { CLAIMS_SCHEMA } from '../claims/claim-rules.js';
import type { Claims } from '../claims/claims.js';
import { isProse } from '../documents/document-problem.js';
import { DOCUMENT_FORMATS } from '../documents/document-rules.js';
import { ENTRY_TYPE_NAMES, ENTRY_TYPES, type EntryType, STATUSES } from '../documents/entry-types.js';
import { Checked, Optional, Rule, type Unchecked } from '../validation/class-checks.js';
import { type Issue, issue } from '../validation/problems.js';
import { anything, claims, flagParameter, storableText, textUpTo } from '../validation/value-checks.js';
import { documentClassOf } from './document-classes.js';

const MAX_STATUS_MESSAGE = 500;

/** The claims, and in a member that is called like its type the document: see below. */
@Rule<PublishBody>(oneDocument)
export class PublishBody {
  readonly [type: string]: unknown;

  /** Strings, or lists of strings; those of the first version for every later one. */
  @ApiPropertyOptional(CLAIMS_SCHEMA)
  @Optional()
  @Checked(claims)
  claims?: Claims;
}

for (const type of ENTRY_TYPE_NAMES) {
  const description = `A ${type} document. Exactly one of ${ENTRY_TYPE_NAMES.join(', ')} is needed`;
  ApiPropertyOptional({ type: documentClassOf(type), description })(PublishBody.prototype, type);
  Optional()(PublishBody.prototype, type);
  Checked(anything)(PublishBody.prototype, type);
}

export class ClaimsBody {
  /** An empty map clears the claims. */
  @ApiProperty(CLAIMS_SCHEMA)
  @Checked(claims)
  claims: Claims;
}

export class StatusBody {
  @ApiProperty({ enum: STATUSES, description: describeStatuses() })
  @Checked(storableText)
  status: string;

  /** Shown beside the status; absent: none. */
  @ApiPropertyOptional({ maxLength: MAX_STATUS_MESSAGE })
  @Optional()
  @Checked(statusMessage)
  statusMessage?: string;
}

export class PublishQuery {
  @ApiPropertyOptional({ type: 'boolean', description: 'Answers as publishing would, and writes nothing' })
  @Optional()
  @Checked(flagParameter)
  dry_run?: string;
}

/** The types of which a body holds a document: one, once it has been checked. */
export function typesIn(body: Unchecked<PublishBody>): EntryType[] {
  return ENTRY_TYPE_NAMES.filter((type) => body[type] !== undefined);
}

// It is shown beside the document, and held to the same as a description (contract §7).
function statusMessage(value: unknown): Issue[] {
  const issues = textUpTo(MAX_STATUS_MESSAGE)(value);
  if (issues.length > 0 || isProse(String(value))) return issues;
  return issue(`${DOCUMENT_FORMATS['prose']?.rule}`);
}

function oneDocument(body: Unchecked<PublishBody>): Issue[] {
  const types = typesIn(body);
  if (types.length === 1) return [];
  const found = types.length === 0 ? 'none' : types.join(' and ');
  return issue(`needs exactly one of ${ENTRY_TYPE_NAMES.join(' and ')}, and has ${found}`);
}

function describeStatuses(): string {
  const lines = ENTRY_TYPE_NAMES.map((type) => {
    const { listKey, statuses } = ENTRY_TYPES[type];
    return `${listKey}: ${statuses.join(', ')}`;
  });
  return lines.join('; ');
}
