// The worker thread of LargeBodies.
import { parentPort } from 'node:worker_threads';
import { type Claims, MAX_CLAIM_VALUES } from '../claims/claims.js';
import type { RegistrySettings } from '../config/registry-settings.dto.js';
import { checkDocument, type CheckedDocument } from '../documents/document-check.js';
import { ENTRY_TYPE_NAMES } from '../documents/entry-types.js';
import type { DocumentIn } from '../http/body.js';
import { ApiError, type ErrorCode } from '../http/errors.js';
import { parseBody, refuseLostDigits } from '../http/json-body.js';
import { isObject, member } from '../json/json-values.js';
import { checkPublishedServer } from '../mcp-publisher/published-server.js';

/** No valid body has more values outside its document. Reading the result takes the main thread a few milliseconds. */
const MAX_VALUES = 20_000;

type ClaimsSetting = {
  [K in keyof RegistrySettings]-?: NonNullable<RegistrySettings[K]> extends Claims ? K : never;
}[keyof RegistrySettings];
/** The keys of bodies whose values are claims. A setting of a registry with such a value compiles only with a row here. */
const CLAIMS_KEYS: Readonly<Record<ClaimsSetting, true>> = { claims: true, publishClaims: true };

export interface BodyToRead {
  readonly bytes: Uint8Array;
  readonly document: DocumentIn | undefined;
}

/** The body without its documents, with the result of checking each; or the reason to refuse the body. */
export type ReadBody =
  | {
      readonly body: object;
      readonly checked: readonly (readonly [key: string | null, outcome: CheckedDocument])[];
      readonly refusal?: undefined;
    }
  | {
      readonly refusal: {
        readonly code: ErrorCode;
        readonly message: string;
        readonly details: readonly string[] | undefined;
      };
    };

parentPort?.on('message', (sent: BodyToRead) => parentPort?.postMessage(outcomeOf(sent)));

function outcomeOf({ bytes, document }: BodyToRead): ReadBody {
  try {
    return read(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), document);
  } catch (error) {
    // Any other error is a bug and ends the worker.
    if (!(error instanceof ApiError)) throw error;
    const { code, message, details } = error;
    return { refusal: { code, message, details } };
  }
}

function read(raw: Buffer, document: DocumentIn | undefined): ReadBody {
  const json = parseBody(raw);
  if (document === 'body') return { body: {}, checked: [[null, checkPublishedServer({ json, raw })]] };
  if (document === undefined || !isObject(json)) return { body: withinLimits(json), checked: [] };
  refuseLostDigits(raw);
  const types = ENTRY_TYPE_NAMES.filter((type) => json[type] !== undefined);
  const rest = Object.fromEntries(
    Object.entries(json).filter(([key]) => !types.some((type) => type === key)),
  );
  return {
    body: withinLimits(rest),
    checked: types.map((type) => [type, checkDocument(type, json[type])] as const),
  };
}

/** @throws ApiError 400 `too_many_claims`, `invalid_body`. */
function withinLimits(body: object): object {
  const counts = { values: 0, claims: 0 };
  count(body, false, counts);
  if (counts.claims > MAX_CLAIM_VALUES) throw new ApiError('too_many_claims');
  if (counts.values > MAX_VALUES)
    throw new ApiError('invalid_body', `The body is not valid: it has more than ${MAX_VALUES} values`);
  return body;
}

function count(value: unknown, isClaim: boolean, counts: { values: number; claims: number }): void {
  counts.values += 1;
  if (typeof value !== 'object' || value === null) {
    if (isClaim) counts.claims += 1;
    return;
  }
  // The pairs from `Object.entries` would take most of the worker's heap for a body of 400,000 values.
  if (Array.isArray(value)) for (const item of value) count(item, isClaim, counts);
  else
    for (const key of Object.keys(value))
      count(member(value, key), isClaim || Object.hasOwn(CLAIMS_KEYS, key), counts);
}
