import { Injectable } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { DataSource, type EntityManager, QueryFailedError } from 'typeorm';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import type { ResourceAccess, ReachableSources, ReachedPath } from '../app/claims.interceptor.js';
import type { SourceConfig } from '../config/config.js';
import { resolveSource } from '../config/resolve-config.js';
import type { SourceSettings } from '../source-kinds/source-settings.dto.js';
import { ApiError } from '../http/errors.js';
import { type AdminListQuery, pageOf } from '../http/lists/admin-list.js';
import { checkPreconditions, type Preconditions } from '../http/preconditions.js';
import { JsonText } from '../http/json-answers.js';
import { checkAdminFile } from './admin-files.js';
import { EntryClaims, SourceWriter } from './source-writer.js';
import { describeSource, sourceTag } from './source-answer.js';
import { type SourceRow, SourcesQueries } from './sources.queries.js';

/** The sources as the admin API knows them (contract §7). */
@Injectable()
export class SourcesService implements ReachableSources {
  private readonly writer: SourceWriter;
  private readonly adminFileRoot: string | null;

  constructor(
    private readonly dataSource: DataSource,
    private readonly queries: SourcesQueries,
    private readonly policy: AccessPolicy,
    labels: EntryClaims,
    config: ConfigService,
  ) {
    this.writer = new SourceWriter(labels);
    this.adminFileRoot = config.get<string | null>('adminFileRoot') ?? null;
  }

  async reach(caller: Caller, { name }: ReachedPath, to: ResourceAccess['to']): Promise<void> {
    this.check(caller, await this.queries.findByName(name), to);
  }

  async list(caller: Caller, query: AdminListQuery): Promise<JsonText> {
    const reachable = (await this.queries.all()).filter((row) => this.policy.mayReach(caller, row.claims));
    const { items, metadata } = pageOf('admin-sources', reachable, query);
    return new JsonText(JSON.stringify({ sources: items.map(describeSource), metadata }));
  }

  async get(caller: Caller, name: string): Promise<JsonText> {
    const row = await this.queries.findByName(name);
    this.check(caller, row, 'read');
    return answer(row);
  }

  /** The source as it can be reached, for whoever lists what is in it. */
  async getReachable(caller: Caller, name: string): Promise<SourceRow> {
    const row = await this.queries.findByName(name);
    this.check(caller, row, 'read');
    return row;
  }

  /** spec §4.4: the existing claims must be the caller's to satisfy, and the new ones a subset of the caller's. */
  async put(
    caller: Caller,
    name: string,
    settings: SourceSettings,
    preconditions: Preconditions,
  ): Promise<{ created: boolean; answer: JsonText }> {
    const declared = await this.resolve(name, settings);
    this.policy.checkGrant(caller, declared.claims);
    return this.write(async (manager) => {
      const found = await this.queries.lockByName(name, manager);
      if (found) this.check(caller, found, 'change');
      checkPreconditions(preconditions, found ? sourceTag(found) : null);
      if (found && found.kind !== declared.kind) throw new ApiError('kind_immutable');
      await this.writer.put(manager, declared, 'api');
      const stored = await this.queries.findByName(name, manager);
      if (!stored) throw new Error('A source that was written is not there');
      return { created: !found, answer: answer(stored) };
    });
  }

  async remove(caller: Caller, name: string, preconditions: Preconditions): Promise<void> {
    await this.write(async (manager) => {
      const found = await this.queries.lockByName(name, manager);
      this.check(caller, found, 'change');
      checkPreconditions(preconditions, sourceTag(found));
      if ((await this.queries.registriesUsing(found.id, manager)) > 0) throw new ApiError('source_in_use');
      await this.queries.remove(found.id, manager);
    });
  }

  async sync(caller: Caller, name: string): Promise<JsonText> {
    const row = await this.getReachable(caller, name);
    if (row.intervalMs === null) throw new ApiError('not_synced');
    await this.queries.requestSync(row.id);
    return this.get(caller, name);
  }

  private check(caller: Caller, row: SourceRow | undefined, to: 'read' | 'change'): asserts row is SourceRow;
  private check(caller: Caller, row: SourceRow | undefined, to: ResourceAccess['to']): void;
  private check(caller: Caller, row: SourceRow | undefined, to: ResourceAccess['to']): void {
    if (row === undefined && to === 'put') return;
    if (!row || !this.policy.mayReach(caller, row.claims)) throw new ApiError('source_not_found');
    if (to !== 'read' && row.origin === 'config') throw new ApiError('config_managed');
  }

  private async resolve(name: string, settings: SourceSettings): Promise<SourceConfig> {
    const declared = resolveSource(name, settings, this.adminFileRoot ?? '/');
    const { passwordFile, privateKeyFile, knownHostsFile } = settings.git?.auth ?? {};
    const files = [
      settings.file?.path,
      passwordFile,
      privateKeyFile,
      knownHostsFile,
      settings.api?.tokenFile,
    ];
    for (const file of files) if (file !== undefined) await checkAdminFile(file, this.adminFileRoot);
    return declared;
  }

  private async write<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    try {
      return await this.dataSource.transaction(work);
    } catch (error) {
      throw asConflict(error);
    }
  }
}

function answer(row: SourceRow): JsonText {
  return new JsonText(JSON.stringify(describeSource(row)), sourceTag(row));
}

// What two requests at once can still run into is decided by the database.
function asConflict(error: unknown): unknown {
  if (!(error instanceof QueryFailedError)) return error;
  const { code, constraint } = error.driverError as { code?: string; constraint?: string };
  if (code === '23505' && constraint === 'source_one_managed') return new ApiError('managed_source_exists');
  if (code === '23503' && constraint === 'registry_source_source_id_fkey')
    return new ApiError('source_in_use');
  return error;
}
