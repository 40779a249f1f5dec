import { once } from 'node:events';
import { get as getPlain, type IncomingMessage } from 'node:http';
import { get as getOverTls, type RequestOptions } from 'node:https';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { clusterConfig } from '../../config/slices.js';
import { member } from '../../json/json-values.js';
import { retryAfterMs } from '../../outbound/http-client.js';
import { serverSaid } from '../../validation/storable-text.js';
import { ClusterError, connectionProblem, statusError } from './cluster-error.js';
import { describeCollection, type ResourceCollection } from './custom-resources.js';
import { type ClusterConnection, Kubeconfig } from './kubeconfig.js';

const HEADERS_TIMEOUT_MS = 15_000;
const PAGE_TIMEOUT_MS = 60_000;
const MAX_ERROR_BYTES = 64 * 1_024;
/** Ten objects of 1.5 MiB, the default limit of API servers, with JSON escapes. */
const MAX_PAGE_BYTES = 32 * 1_024 * 1_024;
const MAX_EVENT_LENGTH = 16 * 1_024 * 1_024;

/** Requests metadata only; API servers that don't support this format send whole objects. */
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';

interface ObjectPage {
  readonly items: readonly unknown[];
  /** The version from which a watch continues; it is the same on all pages. */
  readonly resourceVersion: string;
  /** Continues the list; empty on the last page. */
  readonly next: string;
}

export interface WatchEvent {
  readonly type: unknown;
  readonly object: unknown;
}

/**
 * Sends list and watch requests to the API server. Decision 015 explains why `@kubernetes/client-node` is not used
 * here.
 */
@Injectable()
export class KubernetesClient {
  private readonly kubeconfig: Kubeconfig;

  constructor(@Inject(clusterConfig.KEY) { kubeconfig }: ConfigType<typeof clusterConfig>) {
    this.kubeconfig = new Kubeconfig(kubeconfig);
  }

  /**
   * Lists up to `limit` objects.
   *
   * @param next `next` of the previous page; empty for the first page.
   * @throws ClusterError
   */
  async list(
    collection: ResourceCollection,
    limit: number,
    next: string,
    signal: AbortSignal,
  ): Promise<ObjectPage> {
    const query = { limit: String(limit), ...(next === '' ? {} : { continue: next }) };
    const { response, connection } = await this.open('list', collection, query, signal);
    response.setTimeout(PAGE_TIMEOUT_MS, () =>
      response.destroy(new Error(`no data for ${PAGE_TIMEOUT_MS / 1000} s`)),
    );
    try {
      return parsePage(collection, JSON.parse(await textOf(response, MAX_PAGE_BYTES)));
    } catch (error) {
      if (error instanceof SyntaxError)
        throw new ClusterError(
          `The API server's list of ${describeCollection(collection)} is not valid JSON`,
        );
      throw error instanceof ClusterError
        ? error
        : new ClusterError(connectionProblem(connection.server, error));
    }
  }

  /**
   * Starts a watch and returns the response, whose body streams the events.
   *
   * @param idleMs how long the connection may be idle before it is closed.
   * @throws ClusterError
   */
  async watch(
    collection: ResourceCollection,
    query: Record<string, string>,
    signal: AbortSignal,
    idleMs: number,
  ): Promise<IncomingMessage> {
    const { response } = await this.open('watch', collection, { ...query, watch: 'true' }, signal);
    return response.setTimeout(idleMs, () => response.destroy(new Error('the watch was idle for too long')));
  }

  private async open(
    verb: 'list' | 'watch',
    collection: ResourceCollection,
    query: Record<string, string>,
    signal: AbortSignal,
  ): Promise<{ readonly response: IncomingMessage; readonly connection: ClusterConnection }> {
    const connection = await this.kubeconfig.connect();
    let response: IncomingMessage;
    try {
      const url = new URL(connection.server.replace(/\/+$/, '') + collection.path);
      for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
      response = await send(url, connection.options, acceptOf(verb, collection), signal);
    } catch (error) {
      this.kubeconfig.forget();
      throw new ClusterError(connectionProblem(connection.server, error));
    }
    const { statusCode: status = 0, headers } = response;
    if (status === 200) return { response, connection };
    response.setTimeout(HEADERS_TIMEOUT_MS, () => response.destroy());
    const body = await textOf(response, MAX_ERROR_BYTES).catch(() => '');
    if (status === 401) this.kubeconfig.forget({ credentials: true });
    throw statusError(verb, collection, {
      status,
      body,
      retryAfterMs: retryAfterMs(headers['retry-after'], Date.now()),
    });
  }
}

function acceptOf(verb: 'list' | 'watch', { needsSpec }: ResourceCollection): string {
  if (needsSpec) return 'application/json';
  return verb === 'list' ? METADATA_LIST : METADATA;
}

async function send(
  url: URL,
  options: RequestOptions,
  accept: string,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const headers = { ...options.headers, accept };
  const request = (url.protocol === 'http:' ? getPlain : getOverTls)(url, { ...options, headers, signal });
  const timer = setTimeout(
    () => request.destroy(new Error(`no response within ${HEADERS_TIMEOUT_MS / 1000} s`)),
    HEADERS_TIMEOUT_MS,
  );
  // Lets the operating system detect that the peer has disappeared without closing the connection.
  request.once('socket', (socket) => socket.setKeepAlive(true, 30_000));
  // Errors of the body also reach the reader of the response.
  request.on('error', () => undefined);
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return response;
  } finally {
    clearTimeout(timer);
  }
}

/** @throws ClusterError for a longer body, which ends the connection. */
async function textOf(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new ClusterError(`The API server sent more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes).toString();
}

function parsePage(collection: ResourceCollection, value: unknown): ObjectPage {
  const items = member(value, 'items');
  const metadata = member(value, 'metadata');
  const next = member(metadata, 'continue');
  const resourceVersion = member(metadata, 'resourceVersion');
  if (!Array.isArray(items) || typeof resourceVersion !== 'string')
    throw new ClusterError(
      `The API server's list of ${describeCollection(collection)} has no items or no resource version`,
    );
  return { items, next: typeof next === 'string' ? next : '', resourceVersion };
}

/**
 * Yields the events of a watch. Each line contains one event; an incomplete last line is dropped.
 *
 * @throws ClusterError for an invalid event; any other error means that the connection broke.
 */
export async function* watchEvents(
  collection: ResourceCollection,
  stream: IncomingMessage,
): AsyncGenerator<WatchEvent> {
  let rest = '';
  for await (const chunk of stream.setEncoding('utf8') as AsyncIterable<string>) {
    const [end = '', ...lines] = chunk.split('\n');
    rest += end;
    if (rest.length > MAX_EVENT_LENGTH)
      throw new ClusterError(
        `The API server sent an event of more than ${MAX_EVENT_LENGTH} characters in the watch of ${describeCollection(collection)}`,
      );
    for (const line of lines) {
      if (rest.trim() !== '') yield parseEvent(collection, rest);
      rest = line;
    }
  }
}

/** Returns the error described by an ERROR event, whose object is a Status. */
export function watchError(collection: ResourceCollection, status: unknown): ClusterError {
  const code = member(status, 'code');
  const message = member(status, 'message');
  const seconds = member(member(status, 'details'), 'retryAfterSeconds');
  return new ClusterError(
    `The API server ended the watch of ${describeCollection(collection)}${typeof message === 'string' ? `; ${serverSaid(message)}` : ''}`,
    typeof code === 'number' ? code : undefined,
    typeof seconds === 'number' ? seconds * 1_000 : null,
  );
}

function parseEvent(collection: ResourceCollection, line: string): WatchEvent {
  try {
    const event = JSON.parse(line) as unknown;
    return { type: member(event, 'type'), object: member(event, 'object') };
  } catch {
    throw new ClusterError(
      `The API server sent an invalid event in the watch of ${describeCollection(collection)}`,
    );
  }
}
