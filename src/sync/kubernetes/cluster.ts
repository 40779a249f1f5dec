import { get as getPlain, type IncomingMessage } from 'node:http';
import { get as getOverTls, type RequestOptions } from 'node:https';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { clusterConfig } from '../../config/slices.js';
import { retryAfterMs } from '../../outbound/http-client.js';
import { AnswerTooLarge, ClusterError, connectionProblem, refusal } from './cluster-error.js';
import { describeCollection, type ResourceCollection } from './custom-resources.js';
import { type Connection, Kubeconfig } from './kubeconfig.js';

const HEADERS_TIMEOUT_MS = 15_000;
const PAGE_TIMEOUT_MS = 60_000;
const MAX_REFUSAL_BYTES = 64 * 1024;

/** Of a list whose metadata are enough, and of the events of a watch; an API server without them sends whole objects. */
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';

/** Some of a list. */
export interface Answer {
  readonly json: unknown;
  readonly bytes: number;
}

interface Opened {
  readonly response: IncomingMessage;
  readonly connection: Connection;
}

/**
 * The API server of the cluster. The requests are made here, not by the official client: its Watch can't be stopped while
 * it connects, waits for ever, takes half a line for a whole one, and does not report why it was refused.
 */
@Injectable()
export class Cluster {
  private readonly kubeconfig: Kubeconfig;

  constructor(@Inject(clusterConfig.KEY) { kubeconfig }: ConfigType<typeof clusterConfig>) {
    this.kubeconfig = new Kubeconfig(kubeconfig);
  }

  /** @throws ClusterError; AnswerTooLarge when there are more bytes than that. */
  async list(
    collection: ResourceCollection,
    query: Record<string, string>,
    signal: AbortSignal,
    maxBytes: number,
  ): Promise<Answer> {
    const { response, connection } = await this.open('list', collection, query, signal);
    response.setTimeout(PAGE_TIMEOUT_MS, () =>
      response.destroy(new Error(`no data for ${PAGE_TIMEOUT_MS / 1000} s`)),
    );
    try {
      const bytes = await readAll(response, maxBytes);
      return { json: JSON.parse(bytes.toString()) as unknown, bytes: bytes.length };
    } catch (error) {
      if (error instanceof SyntaxError)
        throw new ClusterError(
          `The API server answered a list of ${describeCollection(collection)} with something that is no JSON`,
        );
      throw error instanceof ClusterError
        ? error
        : new ClusterError(connectionProblem(connection.server, error));
    }
  }

  /**
   * The body of a watch, once it has begun.
   *
   * @param idleMs it is broken when nothing has come for so long.
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
  ): Promise<Opened> {
    const connection = await this.kubeconfig.connect();
    let response: IncomingMessage;
    try {
      const url = new URL(connection.server.replace(/\/+$/, '') + collection.path);
      for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
      response = await send(url, connection.options, acceptOf(verb, collection), signal);
    } catch (error) {
      this.kubeconfig.forget(connection);
      throw new ClusterError(connectionProblem(connection.server, error));
    }
    const { statusCode: status = 0, headers } = response;
    if (status === 200) return { response, connection };
    response.setTimeout(HEADERS_TIMEOUT_MS, () => response.destroy());
    const body = await readAll(response, MAX_REFUSAL_BYTES).catch(() => Buffer.alloc(0));
    response.destroy();
    if (status === 401) this.kubeconfig.forget(connection, { credentials: true });
    throw refusal(verb, collection, {
      status,
      body: body.toString(),
      retryAfterMs: retryAfterMs(headers['retry-after'], Date.now()),
    });
  }
}

function acceptOf(verb: 'list' | 'watch', { needsSpec }: ResourceCollection): string {
  if (needsSpec) return 'application/json';
  return verb === 'list' ? METADATA_LIST : METADATA;
}

function send(
  url: URL,
  options: RequestOptions,
  accept: string,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const headers = { ...options.headers, accept };
    const request = (url.protocol === 'http:' ? getPlain : getOverTls)(url, { ...options, headers });
    const stop = () => request.destroy(new Error('stopped'));
    const timer = setTimeout(
      () => request.destroy(new Error(`no answer within ${HEADERS_TIMEOUT_MS / 1000} s`)),
      HEADERS_TIMEOUT_MS,
    );
    signal.addEventListener('abort', stop, { once: true });
    // A peer that is gone without closing the connection is detected by the operating system.
    request.once('socket', (socket) => socket.setKeepAlive(true, 30_000));
    request.on('error', reject);
    request.once('response', (response) => {
      clearTimeout(timer);
      resolve(response);
    });
    request.once('close', () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    });
  });
}

async function readAll(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes)
      throw new AnswerTooLarge(`The API server answered with more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}
