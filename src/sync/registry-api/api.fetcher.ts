import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { adminSourcesConfig } from '../../config/slices.js';
import { BARE_TYPES, type BareType, ENTRY_TYPES } from '../../documents/entry-types.js';
import { HttpClient } from '../../outbound/http-client.js';
import { KINDS } from '../../source-kinds/kinds.js';
import type { EntryFilter } from '../../sources/entry-filter.js';
import type { LeasedSource } from '../../sources/source-leases.queries.js';
import { parseDuration } from '../../validation/value-checks.js';
import { type Fetched, Fetcher, type FetchState } from '../fetcher.js';
import { SourceFiles } from '../file/source-files.js';
import type { MemoryShare } from '../read-memory.js';
import { type ApiPlan, type ApiState, planOf, readApiState, stateAfter } from './read-plan.js';
import {
  isStatus,
  knowsUpdatedSince,
  refusesParameter,
  RegistryClient,
  ROUNDING_MS,
} from './registry-client.js';
import { RegistryReader } from './registry-reader.js';

/** Statuses by which a server says that it has no entries of a type. */
const ABSENT = [403, 404, 405, 501];

/** Sources of kind api: another MCP registry, mirrored. */
@Injectable()
export class ApiFetcher extends Fetcher<'api'> {
  constructor(
    private readonly http: HttpClient,
    private readonly files: SourceFiles,
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
    private readonly filter: EntryFilter | null,
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

  /** @param tellsChanges what is known of that already. */
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
      content: reading.everything(),
      state: { ...stateAfter(plan, this.before, after) },
    };
  }

  // Null: the upstream does not know how to tell changes.
  private async changes(plan: ApiPlan & { reads: 'changes' }): Promise<Fetched | null> {
    const reading = new RegistryReader(this.filter, this.memory);
    const query = { updated_since: new Date(plan.since).toISOString(), include_deleted: 'true' };
    let readAt: number | null = null;
    let isTold = false;
    try {
      for await (const page of this.client.list('servers', 'servers', query)) {
        readAt ??= page.readAt;
        await reading.servers(page);
        if (!reading.isDated) return null;
        if (isTold || reading.oldest >= plan.since - ROUNDING_MS) continue;
        isTold = await knowsUpdatedSince(this.client);
        if (!isTold) return null;
      }
    } catch (error) {
      if (readAt === null && refusesParameter(error)) return null;
      throw error;
    }
    const { digests = {} } = this.before ?? {};
    const after = { readAt: readAt ?? this.now, now: this.now, tellsChanges: true, digests };
    const state = { ...stateAfter(plan, this.before, after) };
    if (reading.count === 0) return { kind: 'unchanged', state };
    return { kind: 'changes', content: reading.content(), gone: reading.leftOut(), state };
  }

  private async servers(reading: RegistryReader): Promise<number> {
    let readAt: number | null = null;
    const readAll = async (query: Record<string, string>) => {
      for await (const page of this.client.list('servers', 'servers', query)) {
        readAt ??= page.readAt;
        await reading.servers(page);
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

  // What a list does not show has to be asked for one name after the other.
  private async bare(reading: RegistryReader, type: BareType): Promise<string | null> {
    const { path, listKey } = ENTRY_TYPES[type];
    const digest = createHash('sha256');
    let isListed = false;
    try {
      for await (const page of this.client.list(path, listKey)) {
        isListed = true;
        for (const { text } of page.elements) digest.update(`${text}\n`);
        await reading.list(type, page);
      }
    } catch (error) {
      if (!isListed && isStatus(error, ABSENT)) return null;
      throw error;
    }
    for (const below of reading.withUnlistedVersions(type))
      try {
        for await (const page of this.client.list(`${path}/${below}/versions`, listKey))
          await reading.versionsOfOne(type, page);
      } catch (error) {
        if (!isStatus(error, ABSENT)) throw error;
      }
    return digest.digest('base64url');
  }

  // An upstream that had none of a type is asked again when everything is read.
  private async digest(type: BareType): Promise<string | null> {
    if (digestBefore(this.before, type) === null) return null;
    const { path, listKey } = ENTRY_TYPES[type];
    const digest = createHash('sha256');
    try {
      for await (const page of this.client.list(path, listKey))
        for (const { text } of page.elements) digest.update(`${text}\n`);
    } catch (error) {
      if (isStatus(error, ABSENT)) return null;
      throw error;
    }
    return digest.digest('base64url');
  }
}

function digestBefore(before: ApiState | null, type: BareType): string | null {
  return before?.digests[type] ?? null;
}
