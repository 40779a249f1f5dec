import createClient from 'openapi-fetch';
import type { paths } from '../../generated/openapi.js';
import { session } from '../session/session.js';

/** A failed request: the API's error, or our own if there was no response. */
export class Failure extends Error {
  override readonly name = 'Failure';

  constructor(
    readonly sentence: string,
    readonly code: string,
    readonly status: number,
    readonly requestId: string | undefined,
    readonly details: readonly string[],
  ) {
    super(sentence);
  }
}

/** @param body response body of any shape: it may come from a proxy. */
export function failureOf(status: number, body: unknown): Failure {
  const { error, code, requestId, details } = (
    typeof body === 'object' && body !== null ? body : {}
  ) as Record<string, unknown>;
  return new Failure(
    typeof error === 'string' ? error : `The server returned status ${status} without an error message`,
    typeof code === 'string' ? code : 'unexpected_answer',
    status,
    typeof requestId === 'string' ? requestId : undefined,
    Array.isArray(details) ? details.filter((line) => typeof line === 'string') : [],
  );
}

export function failureFrom(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  if (thrown instanceof DOMException && thrown.name === 'TimeoutError')
    return new Failure('The server did not respond in time', 'no_answer', 0, undefined, []);
  return new Failure('The server could not be reached', 'not_reached', 0, undefined, []);
}

const TIMEOUT_MS = 30_000;

/** Base URL of the API: the web UI's own directory, so it works under any prefix. */
export const API_BASE = new URL('.', document.baseURI).href.replace(/\/$/, '');

/** Sends a request with the session's token. The timeout includes the body. */
export async function send(request: Request, timeoutMs = TIMEOUT_MS): Promise<Response> {
  const token = await session.freshToken();
  if (token !== null) request.headers.set('Authorization', `Bearer ${token}`);
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)]);
  const response = await fetch(request, { signal });
  if (response.status === 401 && token !== null) session.refused(token);
  return response;
}

export const api = createClient<paths>({ baseUrl: API_BASE, fetch: (request) => send(request) });

interface ApiResponse<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/**
 * Returns the body of a successful response.
 *
 * @throws Failure for an error response or no response, AbortError when aborted.
 */
export async function unwrap<T>(request: Promise<ApiResponse<T>>): Promise<T> {
  return (await unwrapWithEtag(request)).value;
}

/** A page of an admin list. */
interface ListPage {
  readonly metadata: { readonly nextCursor?: string | undefined };
}

/** Reads an admin list to its end, because each response ends at 1 MiB. */
export async function readPages<Page extends ListPage, Item>(
  read: (query: { cursor?: string }) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[],
): Promise<Item[]> {
  const items: Item[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await read(cursor === undefined ? {} : { cursor });
    items.push(...itemsOf(page));
    cursor = page.metadata.nextCursor;
    if (cursor === undefined) return items;
  }
}

/** Works like `unwrap`, and adds the ETag for a conditional update. */
export async function unwrapWithEtag<T>(
  request: Promise<ApiResponse<T>>,
): Promise<{ readonly value: T; readonly etag: string | null }> {
  try {
    const { data, error, response } = await request;
    if (!response.ok) throw failureOf(response.status, error);
    return { value: data as T, etag: response.headers.get('ETag') };
  } catch (thrown) {
    if (thrown instanceof DOMException && thrown.name === 'AbortError') throw thrown;
    throw failureFrom(thrown);
  }
}
