import { isDeepStrictEqual } from 'node:util';
import { Injectable, Logger } from '@nestjs/common';
import { type EntityManager, In, Not } from 'typeorm';
import type { AuditChange } from '../audit/audit-event.js';
import { AuditTrail, type RecordChange } from '../audit/audit-trail.js';
import { type AppliedOAuth, appliedOAuth, auditedOAuth, secretDigest } from '../auth/audited-oauth.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { AppliedAuthorization } from '../authz/applied-authorization.entity.js';
import { authorizationForm } from '../authz/policy-in-force.js';
import type { Claims } from '../claims/claims.js';
import {
  type AdmissionWebhookConfig,
  type AuthConfig,
  type Config,
  oauthInUse,
  type RegistryConfig,
  type SourceConfig,
} from '../config/config.js';
import { lockCatalogue } from '../database/statements.js';
import { registriesWith } from '../registries/registries.queries.js';
import { RegistriesRepository } from '../registries/registries.repository.js';
import { declaredForm as declaredRegistry } from '../registries/registries.responses.js';
import { RegistryWriter } from '../registries/registry-writer.js';
import { Registry, RegistrySource } from '../registries/registry.entity.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { SourceStates } from '../sources/source-states.queries.js';
import { SourceWriter } from '../sources/source-writer.js';
import { Source } from '../sources/source.entity.js';
import { SourcesRepository } from '../sources/sources.repository.js';
import { declaredForm as declaredSource } from '../sources/sources.responses.js';
import { formatDuration } from '../validation/value-checks.js';
import { auditedWebhook, ConfiguredWebhooks } from '../webhooks/configured-webhooks.js';

const ID = 1;

type AppliedAdmissionWebhook = Pick<AdmissionWebhookConfig, 'name' | 'on' | 'onFailure' | 'url'> & {
  readonly host: string;
  readonly timeout: string;
  readonly secret: string;
};

/** The settings of `auth` as they are compared and audited. */
type AuthForms = Pick<AppliedAuthorization, 'form' | 'oauth'>;

/**
 * Audits changes to `auth.authz` and `auth.oauth` (contract §9). Replicas that apply the same settings record the change once.
 */
@Injectable()
export class AuthorizationChanges {
  /** Takes a while: secrets are digested slowly. */
  async formsOf(auth: AuthConfig): Promise<AuthForms> {
    const oauth = oauthInUse(auth);
    return {
      form: JSON.parse(JSON.stringify(authorizationForm(auth))) as AuthForms['form'],
      oauth: oauth ? await appliedOAuth(oauth) : null,
    };
  }

  /**
   * Compares the settings with those recorded last. Call in a transaction that holds the catalogue lock.
   *
   * @param waiting the paths of changed settings that wait for a restart.
   */
  async apply(
    manager: EntityManager,
    { form, oauth }: AuthForms,
    waiting: readonly string[],
    record: RecordChange,
  ): Promise<Changes> {
    const last = await manager.findOneBy(AppliedAuthorization, { id: ID });
    if (isDeepStrictEqual([last?.form, last?.oauth ?? null], [form, oauth])) return [];
    await manager.save(AppliedAuthorization, { id: ID, form, oauth });
    const changes: Changes = [];
    const recordOne = async (name: string, change: AuditChange) => {
      const paths = waiting.length > 0 ? { waiting } : {};
      await record({
        action: 'config.apply',
        target: { type: 'configuration', name },
        claims: [],
        change,
        ...paths,
      });
      changes.push(`${name}: ${!change.before ? 'created' : change.after ? 'changed' : 'removed'}`);
    };
    // No rules before and none now: nothing to record.
    const hasRules = last ? !isDeepStrictEqual(last.form, form) : form.mode === 'full';
    if (hasRules) await recordOne('auth.authz', { ...(last ? { before: last.form } : {}), after: form });
    const before = last?.oauth ?? null;
    if (!isDeepStrictEqual(before, oauth)) await recordOne('auth.oauth', oauthChange(before, oauth));
    return changes;
  }
}

/** `admission.webhooks` as they are compared: URL and secrets are slow digests. */
function admissionForms(webhooks: readonly AdmissionWebhookConfig[]): Promise<AppliedAdmissionWebhook[]> {
  return Promise.all(
    webhooks.map(async ({ name, url, secrets, on, timeoutMs, onFailure }) => ({
      ...{ name, host: new URL(url).host, on, timeout: formatDuration(timeoutMs), onFailure },
      url: await secretDigest(url, `${name} url`),
      secret: await secretDigest(secrets.join('\n'), `${name} secret`),
    })),
  );
}

/** Audits changes to `admission`. Call in a transaction that holds the catalogue lock, after AuthorizationChanges. */
async function applyAdmission(
  manager: EntityManager,
  forms: readonly AppliedAdmissionWebhook[],
  record: RecordChange,
): Promise<Changes> {
  const last = await manager.findOneByOrFail(AppliedAuthorization, { id: ID });
  const before = (last.admission ?? []) as readonly AppliedAdmissionWebhook[];
  if (isDeepStrictEqual(before, forms)) return [];
  await manager.update(AppliedAuthorization, { id: ID }, { admission: forms });
  await record({
    action: 'config.apply',
    target: { type: 'configuration', name: 'admission' },
    claims: [],
    change: {
      before: { webhooks: before.map((form) => auditedWebhook(form)) },
      after: {
        webhooks: forms.map((form) =>
          auditedWebhook(
            form,
            before.find(({ name }) => name === form.name),
          ),
        ),
      },
    },
  });
  return ['admission: changed'];
}

function oauthChange(before: AppliedOAuth | null, after: AppliedOAuth | null): AuditChange {
  return {
    ...(before ? { before: auditedOAuth(before) } : {}),
    ...(after ? { after: auditedOAuth(after, before) } : {}),
  };
}

/** The changes made by a startup or reload, such as `source catalog: created`. */
export type Changes = string[];

/** The part of the configuration that is kept and audited in the database. */
export type CatalogueConfig = Pick<Config, 'auth' | 'sources' | 'registries' | 'webhooks' | 'admission'>;

/** Collects the changes made by a startup or reload, and audits them. */
interface Written {
  readonly changes: Changes;
  /** What happens to resources created through the API. */
  readonly warnings: string[];
  readonly record: RecordChange;
}

/** The managed source created through the API, which the file takes over, whatever its name. */
interface MadeManaged {
  readonly id: number;
  readonly name: string;
  readonly declaredName: string;
}

/** A source or registry before or after a change: its claims and its audited form. */
interface Declared {
  readonly claims: Claims;
  readonly form: object;
}

async function recordApplied(
  record: RecordChange,
  type: 'source' | 'registry',
  name: string,
  before: Declared | null,
  after: Declared | null,
): Promise<void> {
  await record({
    action: 'config.apply',
    target: { type, name },
    claims: [before, after].flatMap((declared) => (declared ? [declared.claims] : [])),
    change: { ...(before ? { before: before.form } : {}), ...(after ? { after: after.form } : {}) },
  });
}

/** Applies the sources and registries declared in the configuration file: rows of origin `config`. */
@Injectable()
export class ConfiguredResources {
  private readonly logger = new Logger('configuration');

  constructor(
    private readonly audit: AuditTrail,
    private readonly authorization: AuthorizationChanges,
    private readonly webhooks: ConfiguredWebhooks,
    private readonly policy: AccessPolicy,
    private readonly sources: SourcesRepository,
    private readonly sourceWriter: SourceWriter,
    private readonly states: SourceStates,
    private readonly registries: RegistriesRepository,
    private readonly registryWriter: RegistryWriter,
  ) {}

  /**
   * Makes the rows match the file, in one transaction (contract §2): creates, changes and removes sources and registries,
   * with their entries. Nothing created through the API is in the way: the file takes over names and the managed source,
   * and a source that goes leaves every registry. Changes to authorization are audited.
   *
   * @param waiting for a reload, which syncs only changed sources: the paths of settings that wait for a restart.
   * @returns the changes; changes of `auth` only at startup, because each replica reloads them separately.
   */
  async apply(config: CatalogueConfig, waiting: readonly string[] | null = null): Promise<Changes> {
    const warnings: string[] = [];
    const forms = await this.authorization.formsOf(config.auth);
    const webhooks = await this.webhooks.formsOf(config.webhooks);
    const admission = await admissionForms(config.admission.webhooks);
    const changes = await this.audit.transaction(null, async (manager, record) => {
      warnings.length = 0;
      // Serializes this transaction with other replicas and with changes made through the admin API.
      await lockCatalogue(manager);
      const written: Written = { changes: [], warnings, record };
      // Removals come first: a removed registry may hold the last reference to a removed source, and removing a
      // managed source makes room for another one.
      await this.removeRegistries(manager, config, written);
      const managed = await this.findMadeManaged(manager, config);
      const shrunkRegistries = await this.removeSources(manager, config, managed, written);
      if (managed) await manager.update(Source, { id: managed.id }, { name: managed.declaredName });
      for (const source of config.sources) await this.putSource(manager, source, managed, written);
      for (const [position, registry] of config.registries.entries())
        await this.putRegistry(manager, registry, position, shrunkRegistries, written);
      written.changes.push(...(await this.webhooks.apply(manager, webhooks, record)));
      const authorization = await this.authorization.apply(manager, forms, waiting ?? [], record);
      written.changes.push(...(await applyAdmission(manager, admission, record)));
      if (waiting) return written.changes;
      written.changes.push(...authorization);
      // Source content may have changed while the server was down.
      await this.states.scheduleConfigured(manager);
      return written.changes;
    });
    for (const warning of warnings) this.logger.warn(warning);
    return changes;
  }

  private async putSource(
    manager: EntityManager,
    declared: SourceConfig,
    managed: MadeManaged | null,
    written: Written,
  ): Promise<void> {
    const { name } = declared;
    const found = await this.sources.findByName(name, manager);
    const isTakenOver = found?.origin === 'api';
    const earlierName = found && found.id === managed?.id ? managed.name : name;
    const claimSetId = found?.claimSetId;
    const before = found && {
      claims: found.shownClaims,
      form: { ...(isTakenOver ? { name: earlierName, origin: 'api' } : {}), ...declaredSource(found) },
    };
    const { outcome, source } = await this.sourceWriter.put(manager, found, declared, 'config', null);
    if (outcome === 'unchanged') return;
    written.changes.push(`source ${name}: ${isTakenOver ? 'taken over from the API' : outcome}`);
    const after = {
      claims: source.shownClaims,
      form: { ...(isTakenOver ? { name, origin: 'config' } : {}), ...declaredSource(source) },
    };
    await recordApplied(written.record, 'source', name, before, after);
    if (!isTakenOver) return;
    const called = earlierName === name ? '' : `, where it was called ${earlierName}`;
    written.warnings.push(
      `The source ${name} was created through the API${called}: it is now managed by the configuration file`,
    );
    // Who manages a registry reads all its entries, whatever their claims. So the source stays only in registries whose
    // managers cover its new claims.
    if (source.claimSetId === claimSetId) return;
    await this.removeFromMade(
      manager,
      [source.id],
      'was taken over with other claims',
      written,
      ({ claims }) => isWithin(this.policy, claims, source.claims),
    );
  }

  private async putRegistry(
    manager: EntityManager,
    declared: RegistryConfig,
    position: number,
    shrunkRegistries: ReadonlyMap<string, string[]>,
    { changes, warnings, record }: Written,
  ): Promise<void> {
    const { name } = declared;
    const found = await this.registries.findByName(name, manager);
    const isTakenOver = found?.origin === 'api';
    const sources = await this.sources.shareByNames(manager, declared.sources);
    const earlierSources = shrunkRegistries.get(name);
    const before = found && {
      claims: found.shownClaims,
      form: {
        ...declaredRegistry(found),
        ...(earlierSources ? { sources: earlierSources } : {}),
        ...(isTakenOver ? { origin: 'api' } : {}),
        position: found.position,
      },
    };
    const { outcome, registry } = await this.registryWriter.put(
      manager,
      found,
      declared,
      sources,
      'config',
      position,
    );
    // The registry lost a source that was removed from the file; its other settings are unchanged.
    const hasShrunk = outcome === 'unchanged' && earlierSources !== undefined;
    if (hasShrunk) await manager.update(Registry, { name }, { updatedAt: () => 'now()' });
    if (!hasShrunk && outcome === 'unchanged') return;
    const what = hasShrunk ? 'changed' : outcome;
    changes.push(`registry ${name}: ${isTakenOver ? 'taken over from the API' : what}`);
    const after = {
      claims: registry.shownClaims,
      form: { ...declaredRegistry(registry), ...(isTakenOver ? { origin: 'config' } : {}), position },
    };
    await recordApplied(record, 'registry', name, before, after);
    if (isTakenOver)
      warnings.push(
        `The registry ${name} was created through the API: it is now managed by the configuration file`,
      );
  }

  private async removeRegistries(
    manager: EntityManager,
    { registries }: CatalogueConfig,
    { changes, record }: Written,
  ): Promise<void> {
    const names = registries.map(({ name }) => name);
    const leaving = await manager.find(Registry, {
      where: { origin: 'config', name: Not(In(names)) },
      relations: { claimSet: true, sources: { source: true } },
      order: { name: 'ASC', sources: { position: 'ASC' } },
    });
    await manager.delete(Registry, { id: In(leaving.map(({ id }) => id)) });
    for (const registry of leaving) {
      changes.push(`registry ${registry.name}: removed`);
      const before = { claims: registry.claims, form: declaredRegistry(registry) };
      await recordApplied(record, 'registry', registry.name, before, null);
    }
  }

  // Also removes sources whose kind changed, because their entries are obsolete, and sources created through the API whose
  // name the file gives to another kind. Returns the registries of the file that lost a source.
  private async removeSources(
    manager: EntityManager,
    { sources }: CatalogueConfig,
    managed: MadeManaged | null,
    written: Written,
  ): Promise<ReadonlyMap<string, string[]>> {
    const kinds = new Map(sources.map(({ name, kind }) => [name, kind]));
    const found = await manager.find(Source, {
      where: [{ origin: 'config' }, { origin: 'api', name: In([...kinds.keys()]) }],
      relations: { claimSet: true, state: true },
      order: { name: 'ASC' },
      lock: { mode: 'pessimistic_write', tables: ['source'] },
    });
    const leaving = found.filter(({ id, name, kind }) => id !== managed?.id && kinds.get(name) !== kind);
    const ids = leaving.map(({ id }) => id);
    const shrinking = await manager.find(Registry, {
      where: { origin: 'config', id: In(await registriesWith(manager, ids, 'config')) },
      relations: { sources: { source: true } },
      order: { sources: { position: 'ASC' } },
    });
    await this.removeFromMade(manager, ids, 'was removed', written);
    await manager.delete(RegistrySource, { sourceId: In(ids) });
    await manager.delete(Source, { id: In(ids) });
    for (const source of leaving) {
      written.changes.push(`source ${source.name}: removed with its entries`);
      const before = { claims: source.claims, form: declaredSource(source) };
      await recordApplied(written.record, 'source', source.name, before, null);
      if (source.origin === 'api')
        written.warnings.push(
          `The source ${source.name}, created through the API, was removed with its entries: the configuration file has a source of another kind with this name`,
        );
    }
    return new Map(shrinking.map(({ name, sourceNames }) => [name, sourceNames]));
  }

  /**
   * Removes sources from the registries created through the API, one at a time: there may be many.
   *
   * @param reason continues a sentence about the source.
   * @param keeps decides which registries keep the sources.
   */
  private async removeFromMade(
    manager: EntityManager,
    sourceIds: readonly number[],
    reason: string,
    { changes, warnings, record }: Written,
    keeps: (registry: Registry) => boolean = () => false,
  ): Promise<void> {
    for (const id of await registriesWith(manager, sourceIds, 'api')) {
      const registry = await this.registries.findById(manager, id);
      if (!registry || keeps(registry)) continue;
      const { name, claims } = registry;
      const before = { claims, form: declaredRegistry(registry) };
      const lost = registry.sources.filter(({ sourceId }) => sourceIds.includes(sourceId));
      await manager.delete(RegistrySource, { registryId: id, sourceId: In([...sourceIds]) });
      await manager.update(Registry, { id }, { updatedAt: () => 'now()' });
      registry.sources = registry.sources.filter((held) => !lost.includes(held));
      await recordApplied(record, 'registry', name, before, { claims, form: declaredRegistry(registry) });
      changes.push(`registry ${name}: changed`);
      for (const { source } of lost)
        warnings.push(
          `The registry ${name}, created through the API, lost its source ${source.name}, which ${reason}`,
        );
    }
  }

  /** Returns the managed source created through the API, if the file declares one. */
  private async findMadeManaged(
    manager: EntityManager,
    { sources }: CatalogueConfig,
  ): Promise<MadeManaged | null> {
    const declared = sources.find(({ kind }) => kind === MANAGED_KIND);
    if (!declared) return null;
    const made = await manager.findOne(Source, {
      select: { id: true, name: true },
      where: { kind: MANAGED_KIND, origin: 'api' },
    });
    return made && { id: made.id, name: made.name, declaredName: declared.name };
  }
}

// With `unlabeled: deny` only super-admins reach a source without claims, which `keepsWithin` cannot know.
function isWithin(policy: AccessPolicy, claims: Claims, required: Claims): boolean {
  const isUnlabeled = Object.keys(required).length === 0;
  return isUnlabeled ? Object.keys(claims).length === 0 : policy.keepsWithin(claims, required);
}
