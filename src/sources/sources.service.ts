import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { DataSource, type EntityManager, QueryFailedError } from 'typeorm';
import {
  type Audited,
  AuditTrail,
  type ChangeEvent,
  type Requester,
  resourceChange,
} from '../audit/audit-trail.js';
import { Authenticator } from '../auth/auth.guard.js';
import { type Caller, personKey } from '../auth/caller.js';
import type { ResourceUse } from '../auth/route.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { checkAdminAccess } from '../authz/admin-access.js';
import { ReachableClaimSets } from '../authz/reachable-claim-sets.queries.js';
import type { SourceConfig } from '../config/config.js';
import { resolveSource } from '../config/resolve-config.js';
import { limitsConfig } from '../config/slices.js';
import { ApiError } from '../http/errors.js';
import { JsonText } from '../http/json-answers.js';
import { listPage } from '../http/lists.js';
import { checkPreconditions, type Preconditions } from '../http/preconditions.js';
import type { RequestContext } from '../http/request-context.js';
import { checkReadOnlyMembers } from '../http/validation.pipe.js';
import { MANAGED_KIND, SOURCE_KINDS } from '../source-kinds/kinds.js';
import { SOURCE_READ_ONLY, type SourceBody, type SyncRequest } from '../source-kinds/source-settings.dto.js';
import { AdminFiles, AdminNamespaces, checkSettingsLength } from './admin-limits.js';
import { SourceStates } from './source-states.queries.js';
import { SourceWriter } from './source-writer.js';
import { Source } from './source.entity.js';
import { registriesOf, SourcesRepository } from './sources.repository.js';
import type { SourceListParameters } from './sources.dto.js';
import { auditedSource, describeSource, type SourceKinds, sourceTag } from './sources.responses.js';

/** Implements the source routes of the admin API (reference/sources). */
@Injectable()
export class SourcesService {
  constructor(
    private readonly audit: AuditTrail,
    private readonly sources: SourcesRepository,
    private readonly states: SourceStates,
    private readonly writer: SourceWriter,
    private readonly policy: AccessPolicy,
    private readonly files: AdminFiles,
    private readonly namespaces: AdminNamespaces,
    private readonly reachable: ReachableClaimSets,
    private readonly dataSource: DataSource,
    private readonly authenticator: Authenticator,
    @Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>,
  ) {}

  /**
   * Loads the source that a request is about.
   *
   * @returns null only for `put`, which then creates the source.
   * @throws ApiError 404 if it does not exist or is hidden from the caller, 403 for a change to a read-only source.
   */
  async load(caller: Caller, name: string, use: ResourceUse): Promise<Source | null> {
    const source = await this.sources.findByName(name);
    if (source || use !== 'put') checkAdminAccess(this.policy, caller, source, use, 'source_not_found');
    return source;
  }

  async list(caller: Caller, query: SourceListParameters): Promise<JsonText> {
    const all = await this.sources.rows(this.dataSource.manager, query.status || undefined);
    const reachable = await this.reachable.among(this.dataSource.manager, caller, all);
    const rows = all.filter(({ claimSetId }) => reachable.has(claimSetId));
    const page = await listPage('sources', rows, query, true, async (next) => {
      const loaded = await this.sources.loadFirst(next);
      // The claims may have changed since the rows were read.
      return loaded.map((source) => ({
        name: source.name,
        answer: reachable.has(source.claimSetId) ? describeSource(source) : null,
      }));
    });
    return new JsonText(page);
  }

  /** Returns the kinds of sources that the caller may create, as far as this does not depend on their settings. */
  async kinds(caller: Caller): Promise<SourceKinds> {
    const hasManaged = (await this.sources.findManaged()) !== null;
    return {
      kinds: SOURCE_KINDS.filter((kind) =>
        kind === MANAGED_KIND ? !hasManaged : this.namespaces.allows(kind),
      ),
      files: this.files.allowsAny(caller),
    };
  }

  get(source: Source, isCreated = false): JsonText {
    return new JsonText(JSON.stringify(describeSource(source)), sourceTag(source), isCreated);
  }

  /** The caller must satisfy the existing claims, and the new claims must be a subset of the caller's (reference/sources). */
  async put(
    caller: Caller,
    name: string,
    body: SourceBody,
    preconditions: Preconditions,
    context: RequestContext,
  ): Promise<JsonText> {
    const declared = await this.declare(caller, name, body);
    return this.write({ caller, context }, async (manager) => {
      const found = await this.sources.lockByName(manager, name);
      if (found) checkAdminAccess(this.policy, caller, found, 'put', 'source_not_found');
      checkPreconditions(preconditions, found ? sourceTag(found) : null);
      if (found && found.kind !== declared.kind) throw new ApiError('kind_immutable');
      checkReadOnlyMembers(
        body,
        SOURCE_READ_ONLY,
        found ? describeSource(found) : { name, kind: declared.kind },
      );
      if (!found && (await this.sources.countMade(manager)) >= this.limits.apiSources)
        throw new ApiError('too_many_sources');
      const before = found && auditedSource(found);
      const { source, outcome } = await this.writer.put(manager, found, declared, 'api', personKey(caller));
      return {
        result: this.get(source, !found),
        events:
          outcome === 'unchanged' ? [] : [resourceChange('source', name, before, auditedSource(source))],
      };
    });
  }

  async remove(
    caller: Caller,
    name: string,
    preconditions: Preconditions,
    context: RequestContext,
  ): Promise<void> {
    await this.write({ caller, context }, async (manager) => {
      const found = await this.sources.lockByName(manager, name);
      checkAdminAccess(this.policy, caller, found, 'change', 'source_not_found');
      checkPreconditions(preconditions, sourceTag(found));
      await this.checkUnused(caller, manager, found);
      await this.sources.remove(manager, found);
      return { result: undefined, events: [resourceChange('source', name, auditedSource(found), null)] };
    });
  }

  /** @param request.allowShrink disables the shrink guard for this run (reference/sources). */
  async sync(
    caller: Caller,
    source: Source,
    { allowShrink = false }: SyncRequest,
    context: RequestContext,
  ): Promise<JsonText> {
    if (source.intervalMs === null) throw new ApiError('not_synced');
    const requested = await this.audit.transaction({ caller, context }, async (manager) => {
      // Locks the sync state, so that the source cannot be removed before the commit.
      await this.states.request(manager, source.id, allowShrink);
      const found = await this.sources.findByName(source.name, manager);
      const current = found?.id === source.id ? found : null;
      checkAdminAccess(this.policy, caller, current, 'read', 'source_not_found');
      const event: ChangeEvent = {
        action: 'source.sync',
        target: { type: 'source', name: current.name },
        claims: [current.claims],
        ...(allowShrink ? { change: { after: { allowShrink } } } : {}),
      };
      return { result: current, events: [event] };
    });
    return this.get(requested);
  }

  /**
   * Checks settings as far as they can be checked without the stored source.
   *
   * @throws ApiError 400 for settings, files or namespaces that the caller cannot use; 400 or 403 for the claims.
   */
  async declare(caller: Caller, name: string, body: SourceBody): Promise<SourceConfig> {
    checkSettingsLength(body, [...SOURCE_READ_ONLY, 'sync']);
    const declared = resolveSource(name, body, this.files.directory);
    await this.files.checkPut(caller, declared);
    this.namespaces.check(declared);
    if (body.managed?.review && !this.authenticator.readsTokens)
      throw new ApiError('invalid_body', 'managed.review needs auth.mode oauth: callers are not identified');
    this.policy.checkGrant(caller, declared.claims);
    return declared;
  }

  /** Returns the names of the registries that contain this source and are visible to the caller. */
  async registriesWith(caller: Caller, { id }: Source): Promise<string[]> {
    const { manager } = this.dataSource;
    return this.namesReached(caller, manager, await registriesOf(manager, id));
  }

  // The error lists the registries visible to the caller. The source's row is locked, so a concurrent transaction that
  // adds the source to a registry is either waiting or already committed.
  private async checkUnused(caller: Caller, manager: EntityManager, { id }: Source): Promise<void> {
    const users = await registriesOf(manager, id);
    if (users.length === 0) return;
    const names = await this.namesReached(caller, manager, users);
    if (names.length === 0) throw new ApiError('source_in_use');
    throw new ApiError(
      'source_in_use',
      `The source is part of ${names.join(', ')}: remove it from there first`,
      names.map((name) => `registry ${name}`),
    );
  }

  private async namesReached(
    caller: Caller,
    manager: EntityManager,
    registries: readonly { readonly name: string; readonly claimSetId: number }[],
  ): Promise<string[]> {
    const reachable = await this.reachable.among(manager, caller, registries);
    return registries.filter(({ claimSetId }) => reachable.has(claimSetId)).map(({ name }) => name);
  }

  private async write<T>(
    requester: Requester,
    work: (manager: EntityManager) => Promise<Audited<T>>,
  ): Promise<T> {
    try {
      return await this.audit.transaction(requester, work);
    } catch (error) {
      throw asConflict(error);
    }
  }
}

// Converts constraint violations caused by concurrent requests to API errors.
function asConflict(error: unknown): unknown {
  if (!(error instanceof QueryFailedError)) return error;
  const { code, constraint } = error.driverError as { code?: string; constraint?: string };
  if (code === '23505' && constraint === 'source_one_managed') return new ApiError('managed_source_exists');
  // PostgreSQL 18 and later use 23001; earlier versions use 23503.
  if (['23001', '23503'].includes(code ?? '') && constraint === 'registry_source_source_id_fkey')
    return new ApiError('source_in_use');
  return error;
}
