import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { adminSourcesConfig } from '../../config/slices.js';
import { BARE_TYPES, type BareType, ENTRY_TYPES } from '../../documents/entry-types.js';
import { HttpClient } from '../../outbound/http-client.js';
import { KINDS } from '../../source-kinds/kinds.js';
import type { StoredFilter } from '../../sources/entry-filter.js';
import type { LeasedSource } from '../../sources/source-leases.queries.js';
import { parseDuration } from '../../validation/value-checks.js';
import { type Fetched, Fetcher, type FetchState } from '../fetcher.js';
import { SourceFiles } from '../file/source-files.js';
import type { MemoryShare } from '../read-memory.js';
import { SourceReader } from '../source-reader.js';
import { type ApiPlan, type ApiState, planOf, readApiState, stateAfter } from './incremental-sync.js';
import {
  hasStatus,
  refusesParameter,
  RegistryClient,
  ROUNDING_MS,
  supportsUpdatedSince,
} from './registry-client.js';
import { RegistryReader } from './registry-reader.js';

/** Status codes from servers that don't support a type. */
const ABSENT = [403, 404, 405, 501];

/** Fetches sources of kind api, which mirror another MCP registry. */
@Injectable()
export class ApiFetcher extends Fetcher<'api'> {
  constructor(
    private readonly http: HttpClient,
    private readonly files: SourceFiles,
    private readonly reader: SourceReader,
    @Inject(adminSourcesConfig.KEY) private readonly limits: ConfigType<typeof adminSourcesConfig>,
  ) {
    super();
  }

  override async fetch(
    source: LeasedSource<'api'>,
    state: FetchState | null,
    signal: AbortSignal,
    memory: MemoryShare,
  ): Promise<Fetched> {
    const { settings, origin } = source;
    const client = new RegistryClient(this.http, {
      endpoint: settings.endpoint,
      timeoutMs: parseDuration(settings.timeout ?? '') ?? KINDS.api.defaults.timeoutMs,
      bearer: await this.files.token(settings.tokenFile, source),
      allowPrivate: origin === 'config' || this.limits.adminAllowPrivateIP,
      signal,
      memory,
      readPage: (bytes, list) => this.reader.page(bytes, list, source.filter, signal),
    });
    const run = new ApiRun(client, source.filter, readApiState(state), memory);
    return run.fetch(source.isRequested, source.intervalMs);
  }
}

/** One run of one source. */
class ApiRun {
  private readonly now = Date.now();

  constructor(
    private readonly client: RegistryClient,
    private readonly filter: StoredFilter | null,
    private readonly before: ApiState | null,
    private readonly memory: MemoryShare,
  ) {}

  async fetch(isRequested: boolean, intervalMs: number): Promise<Fetched> {
    const plan = planOf(this.before, { now: this.now, intervalMs, isRequested });
    if (plan.reads === 'all' || !this.before) return this.all(plan.reads === 'all' && plan.beginsRound);
    for (const type of BARE_TYPES)
      if ((await this.digest(type)) !== digestBefore(this.before, type)) return this.all(true);
    return (await this.changes(plan)) ?? this.all(false, false);
  }

  /** @param tellsChanges whether `updated_since` may be supported. */
  private async all(beginsRound: boolean, tellsChanges = beginsRound): Promise<Fetched> {
    const reading = new RegistryReader(this.filter, this.memory);
    const readAt = await this.servers(reading);
    const digests: Partial<Record<BareType, string>> = {};
    for (const type of BARE_TYPES) {
      const digest = await this.bare(reading, type);
      if (digest !== null) digests[type] = digest;
    }
    const plan: ApiPlan = { reads: 'all', beginsRound };
    const after = { readAt, now: this.now, tellsChanges: tellsChanges && reading.isDated, digests };
    return {
      kind: 'entries',
      content: reading.fullContent(),
      state: { ...stateAfter(plan, this.before, after) },
    };
  }

  /** Returns null if the upstream does not support `updated_since`. */
  private async changes(plan: ApiPlan & { reads: 'changes' }): Promise<Fetched | null> {
    const reading = new RegistryReader(this.filter, this.memory);
    const query = { updated_since: new Date(plan.since).toISOString(), include_deleted: 'true' };
    let readAt: number | null = null;
    let isSupported = false;
    try {
      for await (const page of this.client.list('servers', 'servers', query)) {
        readAt ??= page.readAt;
        await reading.addServers(page);
        if (!reading.isDated) return null;
        if (isSupported || reading.oldest >= plan.since - ROUNDING_MS) continue;
        isSupported = await supportsUpdatedSince(this.client);
        if (!isSupported) return null;
      }
    } catch (error) {
      if (readAt === null && refusesParameter(error)) return null;
      throw error;
    }
    const { digests = {} } = this.before ?? {};
    const after = { readAt: readAt ?? this.now, now: this.now, tellsChanges: true, digests };
    const state = { ...stateAfter(plan, this.before, after) };
    if (reading.count === 0) return { kind: 'unchanged', state };
    return { kind: 'changes', content: reading.content(), gone: reading.excluded(), state };
  }

  private async servers(reading: RegistryReader): Promise<number> {
    let readAt: number | null = null;
    const readAll = async (query: Record<string, string>) => {
      for await (const page of this.client.list('servers', 'servers', query)) {
        readAt ??= page.readAt;
        await reading.addServers(page);
      }
    };
    try {
      await readAll({ include_deleted: 'true' });
    } catch (error) {
      if (readAt !== null || !refusesParameter(error)) throw error;
      await readAll({});
    }
    return readAt ?? this.now;
  }

  // Versions missing from the list must be requested separately for each name.
  private async bare(reading: RegistryReader, type: BareType): Promise<string | null> {
    const { path, listKey } = ENTRY_TYPES[type];
    const digest = createHash('sha256');
    let isListed = false;
    try {
      for await (const page of this.client.list(path, listKey)) {
        isListed = true;
        digest.update(page.digest);
        await reading.addListed(type, page);
      }
    } catch (error) {
      if (!isListed && hasStatus(error, ABSENT)) return null;
      throw error;
    }
    for (const name of reading.namesWithUnlistedVersions(type))
      try {
        for await (const page of this.client.list(`${path}/${name}/versions`, listKey))
          await reading.addVersions(type, page);
      } catch (error) {
        if (!hasStatus(error, ABSENT)) throw error;
      }
    return digest.digest('base64url');
  }

  // A type that the upstream did not support is not requested again until the next full run.
  private async digest(type: BareType): Promise<string | null> {
    if (digestBefore(this.before, type) === null) return null;
    const { path, listKey } = ENTRY_TYPES[type];
    const digest = createHash('sha256');
    try {
      for await (const page of this.client.list(path, listKey)) digest.update(page.digest);
    } catch (error) {
      if (hasStatus(error, ABSENT)) return null;
      throw error;
    }
    return digest.digest('base64url');
  }
}

function digestBefore(before: ApiState | null, type: BareType): string | null {
  return before?.digests[type] ?? null;
}
