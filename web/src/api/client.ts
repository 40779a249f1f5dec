import createClient, { type Middleware } from 'openapi-fetch';
import type { paths } from '../../generated/openapi.js';
import { session } from '../session/session.js';
import { Failure, failureFrom, failureOf } from './failure.js';

/** Nothing is waited for longer than this. */
const PATIENCE_MS = 30_000;

/** Where the API is: beside the page, whatever the prefix. */
export const API_BASE = new URL('.', document.baseURI).href.replace(/\/$/, '');

const withToken: Middleware = {
  onRequest({ request }) {
    const token = session.current.token;
    if (token !== null) request.headers.set('Authorization', `Bearer ${token}`);
    return request;
  },
  onResponse({ response }) {
    if (response.status === 401) session.refused();
    return undefined;
  },
};

export const api = createClient<paths>({
  baseUrl: API_BASE,
  fetch: (request) =>
    fetch(request, { signal: AbortSignal.any([request.signal, AbortSignal.timeout(PATIENCE_MS)]) }),
});
api.use(withToken);

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
  try {
    const { data, error, response } = await asked;
    if (!response.ok) throw failureOf(response.status, error);
    return data as T;
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown;
    if (thrown instanceof DOMException && thrown.name === 'AbortError') throw thrown;
    throw failureFrom(thrown);
  }
}
