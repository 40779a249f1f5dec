import type { Claims } from '../claims/claims.js';
import type { LimitsConfig } from '../config/config.js';
import { checkDocument, formatProblem, withinPublisherLimit } from '../documents/document-check.js';
import type { IncomingVersion } from '../documents/entry-types.js';
import { type EntryType, type Status, statusesOf } from '../documents/statuses.js';
import { ApiError } from '../http/errors.js';
import { refuseLostDigits } from '../http/json-body.js';
import { invalidBody } from '../http/validation.pipe.js';
import { below, issue } from '../validation/value-checks.js';
import { type PublishBody, type StatusBody, typesIn } from './entries.dto.js';

/** A version to publish that passed all checks that need no database. */
export interface PublishRequest {
  readonly version: IncomingVersion;
  /** `{}` if the request has no claims. */
  readonly claims: Claims;
}

/**
 * Reads the body of a publish request: `{ server | skill, claims? }` (reference/publishing).
 *
 * @param raw the unparsed body, to detect numbers that lost digits in parsing.
 * @param limits.publisherMeta the maximum size of the publisher's block.
 * @throws ApiError 400 `invalid_body`, or `invalid_document` with one sentence per problem in the details.
 */
export function readPublishRequest(
  body: PublishBody,
  raw: Buffer | undefined,
  { publisherMeta }: Pick<LimitsConfig, 'publisherMeta'>,
): PublishRequest {
  refuseLostDigits(raw);
  const [type] = typesIn(body);
  if (type === undefined) throw new Error('A body without a document passed validation');
  const { claims = {} } = body;
  const { problems, version } = withinPublisherLimit(checkDocument(type, body[type]), publisherMeta);
  if (version) return { version, claims };
  const details = problems.map(
    (problem) =>
      `${type}${problem.path === '' || problem.path.startsWith('[') ? ' ' : '.'}${formatProblem(problem)}`,
  );
  throw new ApiError('invalid_document', `The ${type} is not valid: ${details.join('; ')}`, details);
}

/** The status to set. */
export interface StatusRequest {
  readonly status: Status;
  readonly message: string | null;
}

/**
 * Reads `{ status, statusMessage? }`.
 *
 * @throws ApiError 400 `invalid_body`.
 */
export function readStatusRequest(type: EntryType, { status, statusMessage }: StatusBody): StatusRequest {
  const statuses = statusesOf(type);
  const known = statuses.find((one) => one === status);
  if (!known) throw invalidBody(below(['status'], issue(`must be one of ${statuses.join(', ')}`)));
  return { status: known, message: statusMessage ?? null };
}
