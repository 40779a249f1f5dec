import { existsSync } from 'node:fs';
import { get as getPlain, type IncomingMessage } from 'node:http';
import { get as getOverTls, type RequestOptions } from 'node:https';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { KubeConfig } from '@kubernetes/client-node';
import { clusterConfig } from '../config/slices.js';
import { ClusterError, connectionProblem, refusal } from './cluster-error.js';
import type { ResourceCollection } from './resources.js';

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount/token';
const HEADERS_TIMEOUT_MS = 15_000;
const PAGE_TIMEOUT_MS = 60_000;
/** Bookmarks come about once a minute on a watch without changes. */
const IDLE_TIMEOUT_MS = 150_000;
const MAX_PAGE_BYTES = 64 * 1024 * 1024;
const MAX_REFUSAL_BYTES = 64 * 1024;

/**
 * The API server of the cluster. Who we are and where it is come from the kubeconfig, or from the service account of the
 * pod, read by the official client. The requests are made here: that client's Watch can't be stopped while it connects,
 * waits for ever, takes half a line for a whole one, and does not report why it was refused.
 */
@Injectable()
export class Cluster {
  private loaded: Promise<KubeConfig> | undefined;

  constructor(@Inject(clusterConfig.KEY) private readonly config: ConfigType<typeof clusterConfig>) {}

  /** @throws ClusterError */
  async readJson(
    collection: ResourceCollection,
    query: Record<string, string>,
    signal: AbortSignal,
  ): Promise<unknown> {
    const response = await this.open('list', collection, query, signal);
    response.setTimeout(PAGE_TIMEOUT_MS, () =>
      response.destroy(new Error(`no data for ${PAGE_TIMEOUT_MS / 1000} s`)),
    );
    try {
      return JSON.parse((await readAll(response, MAX_PAGE_BYTES)).toString()) as unknown;
    } catch (error) {
      if (error instanceof SyntaxError)
        throw new ClusterError(
          `The API server answered a list of ${collection.plural} with something that is no JSON`,
        );
      throw error instanceof ClusterError ? error : new ClusterError(await this.unreachable(error));
    }
  }

  /** The body of a watch, once it has begun. @throws ClusterError */
  async watch(
    collection: ResourceCollection,
    query: Record<string, string>,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const response = await this.open('watch', collection, { ...query, watch: 'true' }, signal);
    return response.setTimeout(IDLE_TIMEOUT_MS, () =>
      response.destroy(new Error('the watch was idle for too long')),
    );
  }

  private async open(
    verb: 'list' | 'watch',
    collection: ResourceCollection,
    query: Record<string, string>,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    let response: IncomingMessage;
    try {
      const { server, options } = await this.connection();
      const url = new URL(server.replace(/\/+$/, '') + collection.path);
      for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
      response = await send(url, options, signal);
    } catch (error) {
      const sentence = error instanceof ClusterError ? error.message : await this.unreachable(error);
      this.dropConfig();
      throw new ClusterError(sentence);
    }
    const { statusCode = 0 } = response;
    if (statusCode === 200) return response;
    const body = await readAll(response, MAX_REFUSAL_BYTES).catch(() => Buffer.alloc(0));
    response.destroy();
    if (statusCode === 401) this.dropConfig();
    throw refusal(verb, collection, statusCode, body.toString());
  }

  private async connection(): Promise<{ server: string; options: RequestOptions }> {
    this.loaded ??= load(this.config.kubeconfig);
    const config = await this.loaded;
    const server = config.getCurrentCluster()?.server;
    if (server === undefined)
      throw new ClusterError('The kubeconfig has no current context that names a cluster');
    const options: RequestOptions = {};
    try {
      await config.applyToHTTPSOptions(options);
    } catch (error) {
      throw new ClusterError(`The credentials for the cluster could not be read: ${messageOf(error)}`);
    }
    return { server, options };
  }

  private async unreachable(error: unknown): Promise<string> {
    const server = (await this.loaded?.catch(() => undefined))?.getCurrentCluster()?.server ?? '';
    return connectionProblem(server, error);
  }

  // Read again at the next request: the file, or the token in it, may have been replaced.
  private dropConfig(): void {
    this.loaded = undefined;
  }
}

async function load(files: readonly string[]): Promise<KubeConfig> {
  // Half a second and 70 MB, which a server without such a source does not pay.
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  const home = join(homedir(), '.kube', 'config');
  const [first, ...others] =
    files.length === 0 && !existsSync(SERVICE_ACCOUNT) && existsSync(home) ? [home] : files;
  if (first === undefined) {
    if (!existsSync(SERVICE_ACCOUNT))
      throw new ClusterError(
        'There is no cluster: the server runs in no pod with a service account, and neither REGISTRY_KUBECONFIG nor ' +
          'KUBECONFIG names a file',
      );
    config.loadFromCluster();
    return config;
  }
  try {
    config.loadFromFile(first);
    for (const file of others) {
      const more = new KubeConfig();
      more.loadFromFile(file);
      config.mergeConfig(more);
    }
  } catch (error) {
    // The parser's message quotes the text, which holds credentials.
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : (code ?? 'it is no kubeconfig');
    throw new ClusterError(`The kubeconfig ${[first, ...others].join(', ')} could not be read: ${why}`);
  }
  return config;
}

function send(url: URL, options: RequestOptions, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const headers = { ...options.headers, accept: 'application/json' };
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
    if (length > maxBytes) throw new ClusterError('The API server answered with more than is read at once');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'for no known reason';
}
