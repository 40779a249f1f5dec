import { isUtf8 } from 'node:buffer';
import { isDeeperThan, repeatedKey, roundedInteger } from '../json/json-text.js';
import { isObject } from '../json/json-values.js';
import { ApiError } from './errors.js';

/** Documents may be nested 100 levels deep, and start one or two levels deep in the body. */
const MAX_BODY_DEPTH = 128;

/**
 * Parses a JSON body.
 *
 * @throws ApiError 400 `malformed_json`, and 400 `invalid_body` for a body nested too deeply or with a repeated key.
 */
export function parseBody(bytes: Buffer): object {
  if (isDeeperThan(bytes, MAX_BODY_DEPTH))
    throw new ApiError('invalid_body', `The body is nested more than ${MAX_BODY_DEPTH} levels deep`);
  const body = parse(bytes);
  // JSON.parse uses the last value of a repeated key, but a proxy that inspected the body may have used the first.
  const repeated = repeatedKey(bytes.toString());
  if (repeated !== null)
    throw new ApiError(
      'invalid_body',
      `The body is not valid: it has the key ${repeated} twice in one object`,
    );
  return body;
}

/**
 * Returns the problem if parsing has rounded an integer in the body: the served document would differ from the
 * published one.
 */
export function lostDigits(raw: Buffer | undefined): string | undefined {
  const rounded = raw && roundedInteger(raw.toString());
  return rounded === undefined
    ? undefined
    : `the body contains a number that would lose precision: ${rounded.slice(0, 40)} has more digits than a double; send it as a string`;
}

/** @throws ApiError 400 `invalid_body` for `lostDigits`. */
export function refuseLostDigits(raw: Buffer | undefined): void {
  const detail = lostDigits(raw);
  if (detail !== undefined) throw new ApiError('invalid_body', `The body is not valid: ${detail}`, [detail]);
}

function parse(bytes: Buffer): object {
  if (!isUtf8(bytes)) throw new ApiError('malformed_json');
  try {
    const value: unknown = JSON.parse(bytes.toString());
    if (isObject(value) || Array.isArray(value)) return value;
  } catch {
    // Refused below, without the parser's message, which quotes the body.
  }
  throw new ApiError('malformed_json');
}
