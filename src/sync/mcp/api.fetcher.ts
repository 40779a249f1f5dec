import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { adminSourcesConfig } from '../../config/slices.js';
import { parseDuration } from '../../validation/duration.js';
import { HttpClient } from '../../outbound/http-client.js';
import { type ApiPlan, type ApiState, planOf, readApiState, stateAfter } from './read-plan.js';
import type { EntryFilter } from '../../sources/filter/entry-filter.js';
import { type Fetched, Fetcher, type FetchState } from '../fetcher.js';
import { RegistryClient, StatusError } from './registry-client.js';
import type { MemoryShare } from '../read-memory.js';
import { RegistryReader } from './registry-reader.js';
import { SourceFiles } from '../file/source-files.js';
import type { LeasedSource } from '../../sources/leased-source.js';

const DEFAULT_TIMEOUT_MS = 10_000;
/** Statuses by which a server says that it does not know a parameter. */
const REFUSED = [400, 422];
/** Statuses by which a server says that it has no skills. */
const ABSENT = [403, 404, 405, 501];
const SKILLS = 'x/dev.toolhive/skills';
/** How far before the time asked for a server may round, before it counts as one that does not know the parameter. */
const ROUNDING_MS = 60 * 60 * 1_000;
/** Nothing has been updated since. */
const FAR_FUTURE = '9999-01-01T00:00:00Z';

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
      timeoutMs: parseDuration(settings.timeout ?? '') ?? DEFAULT_TIMEOUT_MS,
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
    if ((await this.skillsDigest()) !== this.before.skills) return this.all(true);
    return (await this.changes(plan)) ?? this.all(false, false);
  }

  /** @param tellsChanges what is known of that already. */
  private async all(beginsRound: boolean, tellsChanges = beginsRound): Promise<Fetched> {
    const reading = new RegistryReader(this.filter, this.memory);
    const readAt = await this.servers(reading);
    const skills = await this.skills(reading);
    const plan: ApiPlan = { reads: 'all', beginsRound };
    const after = { readAt, now: this.now, tellsChanges: tellsChanges && reading.isDated, skills };
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
        isTold = await this.knowsUpdatedSince();
        if (!isTold) return null;
      }
    } catch (error) {
      if (readAt === null && isStatus(error, REFUSED)) return null;
      throw error;
    }
    const { skills = null } = this.before ?? {};
    const after = { readAt: readAt ?? this.now, now: this.now, tellsChanges: true, skills };
    const state = { ...stateAfter(plan, this.before, after) };
    if (reading.count === 0) return { kind: 'unchanged', state };
    return { kind: 'changes', content: reading.content(), gone: reading.leftOut(), state };
  }

  // What has not been updated since may have become visible since, as it may here. A registry that passes the parameter over
  // shows everything at any time.
  private async knowsUpdatedSince(): Promise<boolean> {
    try {
      const pages = this.client.list('servers', 'servers', { updated_since: FAR_FUTURE });
      for await (const { elements } of pages) return elements.length === 0;
    } catch (error) {
      if (!isStatus(error, REFUSED)) throw error;
    }
    return false;
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
      if (readAt !== null || !isStatus(error, REFUSED)) throw error;
      await readAll({});
    }
    return readAt ?? this.now;
  }

  // What the list of skills does not show has to be asked for one skill after the other.
  private async skills(reading: RegistryReader): Promise<string | null> {
    const digest = createHash('sha256');
    let isListed = false;
    try {
      for await (const page of this.client.list(SKILLS, 'skills')) {
        isListed = true;
        for (const { text } of page.elements) digest.update(`${text}\n`);
        await reading.skills(page);
      }
    } catch (error) {
      if (!isListed && isStatus(error, ABSENT)) return null;
      throw error;
    }
    for (const path of reading.unlistedSkills())
      try {
        for await (const page of this.client.list(`${SKILLS}/${path}/versions`, 'skills'))
          await reading.skillVersions(page);
      } catch (error) {
        if (!isStatus(error, ABSENT)) throw error;
      }
    return digest.digest('base64url');
  }

  // An upstream that had no skills is asked again when everything is read.
  private async skillsDigest(): Promise<string | null> {
    if (!this.before?.skills) return null;
    const digest = createHash('sha256');
    try {
      for await (const page of this.client.list(SKILLS, 'skills'))
        for (const { text } of page.elements) digest.update(`${text}\n`);
    } catch (error) {
      if (isStatus(error, ABSENT)) return null;
      throw error;
    }
    return digest.digest('base64url');
  }
}

function isStatus(error: unknown, statuses: readonly number[]): boolean {
  return error instanceof StatusError && statuses.includes(error.status);
}
