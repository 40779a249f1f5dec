import { type Claims, claimsProblems } from '../claims/claims.js';
import { ApiError } from '../http/errors.js';
import { isObject } from '../json/is-object.js';
import type { IncomingVersion } from '../documents/incoming-version.js';
import { checkDocument, sentenceOf } from '../documents/document-check.js';
import { ENTRY_TYPE_NAMES, ENTRY_TYPES, type EntryType } from '../documents/entry-types.js';
import { repeatedKey } from '../json/repeated-key.js';

const MAX_STATUS_MESSAGE = 500;

/** A version somebody wants to publish, judged by all rules that need no database. */
export interface PublishRequest {
  readonly version: IncomingVersion;
  /** `{}` when none were sent. */
  readonly claims: Claims;
}

/**
 * Reads the body of a publish request: `{ server | skill, claims? }` (contract §7).
 *
 * @param raw its text: a key given twice can't be seen in what was parsed.
 *
 * @throws ApiError 400 `invalid_body`, `invalid_document`, with one sentence per problem in the details.
 */
export function readPublishRequest(body: unknown, raw: Buffer | undefined): PublishRequest {
  refuseRepeatedKeys(raw);
  refuseLostDigits(raw);
  const members = mapOf(body, [...ENTRY_TYPE_NAMES, 'claims']);
  const types = ENTRY_TYPE_NAMES.filter((type) => members[type] !== undefined);
  const [type] = types;
  if (type === undefined || types.length > 1)
    throw invalid([
      `the body needs exactly one of server and skill, and has ${types.length === 0 ? 'none' : 'both'}`,
    ]);
  const claims = members['claims'] === undefined ? {} : readClaims(members['claims']);
  const { problems, version } = checkDocument(type, members[type]);
  if (version) return { version, claims };
  const details = problems.map(
    (problem) =>
      `${type}${problem.path === '' || problem.path.startsWith('[') ? ' ' : '.'}${sentenceOf(problem)}`,
  );
  throw new ApiError('invalid_document', `The ${type} is not valid: ${details.join('; ')}`, details);
}

/**
 * Reads `{ claims }`; the member must be there.
 *
 * @throws ApiError 400 `invalid_body`.
 */
export function readClaimsRequest(body: unknown, raw: Buffer | undefined): Claims {
  refuseRepeatedKeys(raw);
  const members = mapOf(body, ['claims']);
  if (!Object.hasOwn(members, 'claims'))
    throw invalid(['claims is required; an empty map clears the claims of the entry']);
  return readClaims(members['claims']);
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
  const { statuses } = ENTRY_TYPES[type];
  const { status, statusMessage } = mapOf(body, ['status', 'statusMessage']);
  const problems: string[] = [];
  if (typeof status !== 'string' || !statuses.includes(status))
    problems.push(`status must be one of ${statuses.join(', ')}`);
  if (statusMessage !== undefined && !isMessage(statusMessage))
    problems.push(`statusMessage must be text of at most ${MAX_STATUS_MESSAGE} characters`);
  if (problems.length > 0) throw invalid(problems);
  return { status: String(status), message: isMessage(statusMessage) ? statusMessage : null };
}

function refuseRepeatedKeys(raw: Buffer | undefined): void {
  const path = raw ? repeatedKey(raw.toString()) : null;
  if (path !== null) throw invalid([`the key ${path} is given twice in one object`]);
}

// Strings are matched first, so that digits in them are passed over.
const LONG_INTEGERS = /"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/gs;

// What was parsed has rounded them already; what would be served is not what was sent.
function refuseLostDigits(raw: Buffer | undefined): void {
  for (const [token] of raw?.toString().matchAll(LONG_INTEGERS) ?? [])
    if (!token.startsWith('"') && !isKept(token))
      throw invalid([`the number ${token.slice(0, 40)} has more digits than are kept: send it as a string`]);
}

// What is too large for a number has become infinite, which is no integer.
function isKept(digits: string): boolean {
  const parsed = Number(digits);
  return Number.isFinite(parsed) && BigInt(digits) === BigInt(parsed);
}

function readClaims(value: unknown): Claims {
  const problems = claimsProblems(value);
  if (problems.length > 0) throw invalid(problems.map((problem) => `claims: ${problem}`));
  return value as Claims;
}

function mapOf(body: unknown, known: readonly string[]): Record<string, unknown> {
  if (!isObject(body)) throw invalid(['a JSON object is needed']);
  const unknown = Object.keys(body).filter((key) => !known.includes(key));
  if (unknown.length > 0)
    throw invalid(
      unknown.map((key) => `${JSON.stringify(key)} is not a known key; known are ${known.join(', ')}`),
    );
  return body as Record<string, unknown>;
}

// PostgreSQL takes neither NUL nor half a surrogate pair.
function isMessage(value: unknown): value is string {
  return (
    typeof value === 'string' && [...value].length <= MAX_STATUS_MESSAGE && !/\0|\p{Surrogate}/u.test(value)
  );
}

function invalid(details: readonly string[]): ApiError {
  return new ApiError('invalid_body', `The body is not valid: ${details.join('; ')}`, details);
}
