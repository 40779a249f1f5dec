import type { Claims } from '../claims/claims.js';
import { checkDocument, formatProblem } from '../documents/document-check.js';
import { ENTRY_TYPES, type EntryType } from '../documents/entry-types.js';
import type { IncomingVersion } from '../documents/incoming-version.js';
import { ApiError } from '../http/errors.js';
import { invalidBody, readBody } from '../http/validation.pipes.js';
import { below, issue } from '../validation/problems.js';
import { oneOf } from '../validation/value-checks.js';
import { ClaimsBody, PublishBody, StatusBody, typesIn } from './entries.dto.js';

/** A version to publish, checked by all rules that need no database. */
export interface PublishRequest {
  readonly version: IncomingVersion;
  /** `{}` when none were sent. */
  readonly claims: Claims;
}

/**
 * Reads the body of a publish request: `{ server | skill, claims? }` (contract §7).
 *
 * @param raw its text: digits that were lost can't be seen in what was parsed.
 *
 * @throws ApiError 400 `invalid_body`, `invalid_document`, with one sentence per problem in the details.
 */
export function readPublishRequest(body: unknown, raw: Buffer | undefined): PublishRequest {
  refuseLostDigits(raw);
  const sent = readBody(PublishBody, body);
  const [type] = typesIn(sent);
  if (type === undefined) throw new Error('A body without a document was not refused');
  const { claims = {} } = sent;
  const { problems, version } = checkDocument(type, sent[type]);
  if (version) return { version, claims };
  const details = problems.map(
    (problem) =>
      `${type}${problem.path === '' || problem.path.startsWith('[') ? ' ' : '.'}${formatProblem(problem)}`,
  );
  throw new ApiError('invalid_document', `The ${type} is not valid: ${details.join('; ')}`, details);
}

/**
 * Reads `{ claims }`; the member must be there.
 *
 * @throws ApiError 400 `invalid_body`.
 */
export function readClaimsRequest(body: unknown): Claims {
  return readBody(ClaimsBody, body).claims;
}

/** A status to be set. */
export interface StatusRequest {
  readonly status: string;
  readonly message: string | null;
}

/**
 * Reads `{ status, statusMessage? }`.
 *
 * @throws ApiError 400 `invalid_body`.
 */
export function readStatusRequest(type: EntryType, body: unknown): StatusRequest {
  const { status, statusMessage = null } = readBody(StatusBody, body);
  const issues = oneOf(...ENTRY_TYPES[type].statuses)(status);
  if (issues.length > 0) throw invalidBody(below(['status'], issues));
  return { status, message: statusMessage };
}

// Strings are matched first, so that digits in them are passed over.
const LONG_INTEGERS = /"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/gs;

/**
 * What was parsed has rounded them already; what would be served is not what was sent.
 *
 * @throws ApiError 400 `invalid_body`.
 */
export function refuseLostDigits(raw: Buffer | undefined): void {
  for (const [token] of raw?.toString().matchAll(LONG_INTEGERS) ?? [])
    if (!token.startsWith('"') && !isKept(token))
      throw invalidBody(
        issue(
          `holds a number that would change: ${token.slice(0, 40)} has more digits than are kept, so send it as a string`,
        ),
      );
}

// What is too large for a number has become infinite, which is no integer.
function isKept(digits: string): boolean {
  const parsed = Number(digits);
  return Number.isFinite(parsed) && BigInt(digits) === BigInt(parsed);
}
