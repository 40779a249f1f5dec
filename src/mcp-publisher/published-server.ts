import { checkDocument, type CheckedDocument } from '../documents/document-check.js';
import { MAX_PROBLEMS } from '../documents/document-problem.js';
import type { SentJson } from '../http/body.js';
import { lostDigits } from '../http/json-body.js';
import { isObject } from '../json/json-values.js';

/** Checks the server document that `mcp-publisher` sends as the body (reference/publishing). */
export function checkPublishedServer({ json, raw }: SentJson): CheckedDocument {
  const checked = checkDocument('server', withoutEmptyRepository(json));
  const lost = lostDigits(raw);
  if (lost === undefined) return checked;
  return { problems: [{ path: '', message: lost }, ...checked.problems.slice(0, MAX_PROBLEMS - 1)] };
}

// Clients written in Go send an empty repository object instead of omitting it.
function withoutEmptyRepository(body: unknown): unknown {
  if (!isObject(body) || !isObject(body['repository']) || Object.keys(body['repository']).length > 0)
    return body;
  return Object.fromEntries(Object.entries(body).filter(([key]) => key !== 'repository'));
}
