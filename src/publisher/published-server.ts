import { checkDocument, type CheckedDocument, formatProblem } from '../documents/document-check.js';
import { MAX_PROBLEMS } from '../documents/document-problem.js';
import type { IncomingVersion } from '../documents/incoming-version.js';
import { refuseLostDigits } from '../entries/publish-request.js';
import type { SentBody } from '../http/body.js';
import { ApiError } from '../http/errors.js';
import { isObject } from '../json/json-values.js';
import type { ValidationIssue } from './publisher.responses.js';

/**
 * The server document of a request of `mcp-publisher`, which is its whole body (contract §6.2).
 *
 * @throws ApiError 422 `unprocessable_document`, upon which the client asks for the issues.
 */
export function readPublishedServer(sent: SentBody): IncomingVersion {
  const checked = checkServer(sent);
  if (checked.version) return checked.version;
  const details = checked.problems.map(formatProblem);
  throw new ApiError('unprocessable_document', `The server is not valid: ${details.join('; ')}`, details);
}

/** What is wrong with the document, as the client prints it; nothing when it could be published. */
export function validationIssues(sent: SentBody): ValidationIssue[] {
  return checkServer(sent).problems.map(({ path, message }) => ({
    type: 'schema',
    path,
    message,
    severity: 'error',
    reference: '',
  }));
}

function checkServer({ body, raw }: SentBody): CheckedDocument {
  const checked = checkDocument('server', withoutEmptyRepository(body));
  const [lost] = lostDigits(raw);
  if (lost === undefined) return checked;
  return { problems: [{ path: '', message: lost }, ...checked.problems.slice(0, MAX_PROBLEMS - 1)] };
}

// Clients written in Go send a repository without members where there is none.
function withoutEmptyRepository(body: unknown): unknown {
  if (!isObject(body) || !isObject(body['repository']) || Object.keys(body['repository']).length > 0)
    return body;
  return Object.fromEntries(Object.entries(body).filter(([key]) => key !== 'repository'));
}

function lostDigits(raw: Buffer | undefined): readonly string[] {
  try {
    refuseLostDigits(raw);
    return [];
  } catch (error) {
    if (error instanceof ApiError) return error.details ?? [error.message];
    throw error;
  }
}
