import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { adminSourcesConfig, limitsConfig } from '../../config/slices.js';
import { asFetchError, FetchError } from '../../outbound/fetch-error.js';
import { HttpClient, retryAfterMs } from '../../outbound/http-client.js';
import type { LeasedSource } from '../../sources/source-leases.queries.js';
import { withoutQuery } from '../../validation/redaction.js';
import { type Fetched, Fetcher, type FetchState } from '../fetcher.js';
import type { MemoryShare } from '../read-memory.js';
import { type LocalFile, maxFileBytes } from './local-file.js';
import { SourceFiles } from './source-files.js';

/** Timeout for downloading a file. */
const URL_TIMEOUT_MS = 60_000;
/** A body takes up twice its size in memory while its chunks are concatenated. */
const COPIES = 2;

/** Fetches sources of kind file: a local file or a URL. */
@Injectable()
export class FileFetcher extends Fetcher<'file'> {
  constructor(
    private readonly http: HttpClient,
    private readonly files: SourceFiles,
    @Inject(adminSourcesConfig.KEY) private readonly admin: ConfigType<typeof adminSourcesConfig>,
    @Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>,
  ) {
    super();
  }

  override async fetch(
    source: LeasedSource<'file'>,
    state: FetchState | null,
    signal: AbortSignal,
    memory: MemoryShare,
  ): Promise<Fetched> {
    const { path, url } = source.settings;
    if (url !== undefined) return this.fetchUrl(url, source, state, signal, memory);
    if (path === undefined) throw new Error('A source of kind file has neither a path nor a URL');
    return fileOf(await this.files.content(path, source, memory), state);
  }

  // Sends a conditional request with the validator from the last response (RFC 9110 §13).
  private async fetchUrl(
    url: string,
    { origin }: LeasedSource<'file'>,
    state: FetchState | null,
    signal: AbortSignal,
    memory: MemoryShare,
  ): Promise<Fetched> {
    const { etag, lastModified } = state ?? {};
    const headers: Record<string, string> = { accept: 'application/json, */*;q=0.5' };
    if (typeof etag === 'string') headers['if-none-match'] = etag;
    else if (typeof lastModified === 'string') headers['if-modified-since'] = lastModified;
    const allowPrivate = origin === 'config' || this.admin.adminAllowPrivateIP;
    const response = await this.http
      .get(url, {
        headers,
        timeoutMs: URL_TIMEOUT_MS,
        maxBytes: maxFileBytes(this.limits, origin),
        onLength: (bytes) => memory.reserveForFile(bytes),
        onBytes: (bytes) => memory.add(COPIES * bytes),
        allowPrivate,
        redirects: 'any-origin',
        signal,
      })
      .catch((error: unknown) => {
        throw asFetchError(error, allowPrivate);
      });
    memory.release((COPIES - 1) * response.bytes.length);
    if (response.status === 304 && state) return { kind: 'unchanged', state };
    if (response.status !== 200)
      throw new FetchError(
        `${withoutQuery(url)}: the response has status ${response.status}`,
        retryAfterMs(response.headers['retry-after'], Date.now()),
      );
    return fileOf(response, state, {
      ...single('etag', response.headers['etag']),
      ...single('lastModified', response.headers['last-modified']),
    });
  }
}

function fileOf(
  { bytes, digest }: LocalFile,
  before: FetchState | null,
  validators: FetchState = {},
): Fetched {
  const state = { ...validators, digest: digest.toString('base64url') };
  return before?.['digest'] === state.digest ? { kind: 'unchanged', state } : { kind: 'file', bytes, state };
}

function single(key: string, value: string | string[] | undefined): Record<string, string> {
  return typeof value === 'string' ? { [key]: value } : {};
}
