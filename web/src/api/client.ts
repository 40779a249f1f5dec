import createClient from 'openapi-fetch';
import type { paths } from '../../generated/openapi.js';
import { session } from '../session/session.js';
import { failureFrom, failureOf } from './failure.js';

/** Nothing is waited for longer than this. */
const PATIENCE_MS = 30_000;

/** Where the API is: beside the page, whatever the prefix. */
export const API_BASE = new URL('.', document.baseURI).href.replace(/\/$/, '');

/** Sends a request as whoever has logged in. */
export async function send(request: Request): Promise<Response> {
  const token = await session.freshToken();
  if (token !== null) request.headers.set('Authorization', `Bearer ${token}`);
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(PATIENCE_MS)]);
  const response = await fetch(request, { signal });
  if (response.status === 401 && token !== null) session.refused(token);
  return response;
}

export const api = createClient<paths>({ baseUrl: API_BASE, fetch: send });

interface Answered<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/**
 * What was answered.
 *
 * @throws Failure, and an AbortError where the page no longer wants to know.
 */
export async function answer<T>(asked: Promise<Answered<T>>): Promise<T> {
  return (await answerWithTag(asked)).value;
}

/** The same with its ETag, which a change of what was answered is held to. */
export async function answerWithTag<T>(
  asked: Promise<Answered<T>>,
): Promise<{ readonly value: T; readonly etag: string | null }> {
  try {
    const { data, error, response } = await asked;
    if (!response.ok) throw failureOf(response.status, error);
    return { value: data as T, etag: response.headers.get('ETag') };
  } catch (thrown) {
    if (thrown instanceof DOMException && thrown.name === 'AbortError') throw thrown;
    throw failureFrom(thrown);
  }
}
