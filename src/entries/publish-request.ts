import { Injectable } from '@nestjs/common';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy, type Recorder } from '../authz/access-policy.js';
import { type Claims, covers, equalClaims } from '../claims/claims.js';
import { checkDocument, formatProblem } from '../documents/document-check.js';
import type { EntryName, IncomingVersion } from '../documents/incoming-version.js';
import { type EntryType, isStatus, type Status, statusesOf } from '../documents/statuses.js';
import { ApiError } from '../http/errors.js';
import { invalidBody, readBody } from '../http/validation.pipes.js';
import { matchesGlob } from '../sources/entry-filter.js';
import { below, issue } from '../validation/problems.js';
import { oneOf } from '../validation/value-checks.js';
import { ClaimsBody, PublishBody, StatusBody, typesIn } from './entries.dto.js';
import type { Entry } from './entry.entity.js';

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
  readonly status: Status;
  readonly message: string | null;
}

/**
 * Reads `{ status, statusMessage? }`.
 *
 * @throws ApiError 400 `invalid_body`.
 */
export function readStatusRequest(type: EntryType, body: unknown): StatusRequest {
  const { status, statusMessage = null } = readBody(StatusBody, body);
  const issues = oneOf(...statusesOf(type))(status);
  if (issues.length > 0 || !isStatus(status)) throw invalidBody(below(['status'], issues));
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

/** Who may publish the names that these globs match: a member of `managed.names` (contract §2). */
export interface NameRule {
  readonly include: readonly string[];
  readonly claims: Claims;
}

/**
 * contract §7: the first rule whose globs have the name decides; its claims must be covered by the publisher's token and by the
 * entry's claims. Names of no rule are free. Letter case is passed over, or `Com.Red/x` would stand beside `com.red/x`.
 *
 * @param held the claims of the publisher's token.
 * @param given the claims the entry has, or is to have.
 */
export function isReserved(
  rules: readonly NameRule[],
  name: string,
  held: Readonly<Record<string, unknown>>,
  given: Claims,
): boolean {
  const rule = rules.find(({ include }) =>
    include.some((glob) => matchesGlob(glob.toLowerCase(), name.toLowerCase())),
  );
  return rule !== undefined && !(covers(held, rule.claims, 'all') && covers(given, rule.claims, 'all'));
}

/** What publishing asks of the caller, the claims and the name (spec §4.2, contract §4, §7). Asked in this order. */
@Injectable()
export class PublishRules {
  constructor(private readonly policy: AccessPolicy) {}

  /** @throws ApiError 400 `claims_required`, `claims_not_subset`. */
  checkClaims(caller: Caller, claims: Claims, record?: Recorder): void {
    this.policy.checkPublish(caller, claims, record);
  }

  /** @throws ApiError 409 `no_managed_source`. */
  checkSource<Source>(managed: Source | null): asserts managed is Source {
    if (managed === null) throw new ApiError('no_managed_source');
  }

  /**
   * contract §7. Before what there is of the name is looked at: the answer is the same when it is still, or again, nobody's.
   *
   * @throws ApiError 400 `name_reserved`.
   */
  checkName(
    caller: Caller,
    { name }: Pick<EntryName, 'name'>,
    claims: Claims,
    rules: readonly NameRule[] | undefined,
  ): void {
    if (this.policy.isBoundByNames(caller) && isReserved(rules ?? [], name, caller.claims, claims))
      throw new ApiError('name_reserved');
  }

  /**
   * contract §4: equal claims for everyone; who may not see the name learns no more than that theirs differ.
   *
   * @param entry that has the name already.
   * @throws ApiError 400 `claims_mismatch`.
   */
  checkLater(caller: Caller, entry: Pick<Entry, 'claims'>, claims: Claims): void {
    if (this.policy.inheritsClaims(caller) && Object.keys(claims).length === 0) return;
    if (!this.policy.mayManage(caller, entry.claims) || !equalClaims(entry.claims, claims))
      throw new ApiError('claims_mismatch');
  }
}
