import { describe, expect, it } from 'vitest';
import { auditIsWritten, auditOf, eventsOf } from '../support/audit.js';
import { ACME_ADMIN, ACME_PLATFORM, ACME_WRITER, CONTOSO_ADMIN, SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import type { Reply } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { aName, aPublication, entryAt } from '../support/publishing.js';
import { timeless } from '../support/publishing.js';
import { aService } from '../support/service.js';

const CLAIMS = { org: 'acme', team: 'platform' };

const service = aService({ mode: 'full' })
  .source('declared', { servers: [aServer('io.acme/a')], claims: { org: 'acme' } })
  .source('published', { kind: 'managed', claims: { org: 'acme' } })
  .registry('main', { sources: ['declared', 'published'], claims: { org: 'acme' } })
  .runs();

const sigrid = () => service.as(SUPER_ADMIN);
const ada = () => service.as(ACME_ADMIN);
const carl = () => service.as(CONTOSO_ADMIN);
const pia = () => service.as(ACME_PLATFORM);
const wim = () => service.as({ ...ACME_WRITER, client_id: 'ci' });
const WIM = () => ({ subject: 'wim', issuer: service.issuer.iss, client: 'ci', roles: ['manageEntries'] });

const SOURCE = {
  file: { url: 'http://127.0.0.1:9/catalogue.json?key=nobody-may-read-this' },
  syncPolicy: { interval: '1h' },
  claims: { org: 'acme' },
};
const refusedNow = () => service.get('/v1/sources');
const expectNoEvent = async (...replies: Reply[]) => {
  await auditIsWritten(sigrid(), refusedNow);
  const ids = replies.map(({ headers }) => headers['x-request-id']);
  const events = await auditOf(sigrid());
  expect(events.filter(({ requestId }) => ids.includes(requestId ?? ''))).toEqual([]);
};

describe('audit events of changes through the API', () => {
  it('include actor, target, claims and source IP for entry.publish', async () => {
    const name = aName();
    const began = new Date().toISOString();
    const reply = await wim().post('/v1/entries', aPublication('server', name, CLAIMS));
    const ended = new Date().toISOString();
    const [event, ...others] = await auditOf(sigrid(), `target=${name}`);
    expect(others).toEqual([]);
    expect(event).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      requestId: reply.headers['x-request-id'],
      action: 'entry.publish',
      outcome: 'allowed',
      actor: WIM(),
      target: { type: 'server', name, version: '1.0.0', source: 'published' },
      change: {
        after: { claims: CLAIMS, status: 'active', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      },
      sourceIp: '127.0.0.1',
    });
    expect([began, event?.time, ended].toSorted()).toEqual([began, event?.time, ended]);
  });

  it('include the claims before and after for entry.claims.update', async () => {
    const name = aName();
    await wim().post('/v1/entries', aPublication('skill', name, CLAIMS));
    await wim().put(entryAt('skill', name, '/claims'), { claims: { org: 'acme' } });
    const [event] = await auditOf(sigrid(), `target=${name}`);
    expect(event).toMatchObject({
      action: 'entry.claims.update',
      target: { type: 'skill', name },
      change: { before: { claims: CLAIMS }, after: { claims: { org: 'acme' } } },
    });
  });

  it('cover one version, or all that change, for entry.status', async () => {
    const name = aName();
    for (const version of ['1.0.0', '2.0.0'])
      await wim().post('/v1/entries', aPublication('server', name, CLAIMS, version));
    await wim().patch(entryAt('server', name, '/versions/1.0.0/status'), {
      status: 'deprecated',
      statusMessage: 'use 2',
    });
    await wim().patch(entryAt('server', name, '/status'), { status: 'deprecated', statusMessage: 'use 2' });
    const [all, one] = await auditOf(sigrid(), `target=${name}&action=entry.status`);
    const after = { status: 'deprecated', statusMessage: 'use 2' };
    expect(one).toMatchObject({
      target: { name, version: '1.0.0' },
      change: { before: { versions: [{ version: '1.0.0', status: 'active' }] }, after },
    });
    expect(all?.target).toEqual({ type: 'server', name, source: 'published' });
    expect(all?.change).toEqual({
      before: { versions: [{ version: '2.0.0', status: 'active' }] },
      after,
    });
  });

  it('include the removed version for entry.delete', async () => {
    const name = aName();
    await wim().post('/v1/entries', aPublication('server', name, CLAIMS));
    await wim().delete(entryAt('server', name, '/versions/1.0.0'));
    expect((await auditOf(sigrid(), `target=${name}`))[0]).toMatchObject({
      action: 'entry.delete',
      target: { name, version: '1.0.0' },
      change: { before: { claims: CLAIMS, status: 'active' } },
    });
  });

  it('omit the query of a URL for source.create, update, sync and delete', async () => {
    const at = '/v1/sources/short-lived';
    expect((await ada().put(at, SOURCE)).status).toBe(201);
    const shown = { file: { url: 'http://127.0.0.1:9/catalogue.json' }, claims: { org: 'acme' } };
    const changed = { ...SOURCE, claims: { org: 'acme', role: 'admin' } };
    expect((await ada().put(at, changed)).status).toBe(200);
    expect((await ada().post(`${at}/sync`, { allowShrink: true })).status).toBe(202);
    expect((await ada().delete(at)).status).toBe(204);
    const events = await auditOf(sigrid(), 'target=short-lived');
    expect(events.map(({ action }) => action)).toEqual([
      'source.delete',
      'source.sync',
      'source.update',
      'source.create',
    ]);
    const [removed, synced, updated, created] = events;
    expect(created?.change).toEqual({
      after: { kind: 'file', ...shown, syncPolicy: { interval: '1h' } },
    });
    expect(updated?.change).toMatchObject({ before: shown, after: { claims: changed.claims } });
    expect(synced?.change).toEqual({ after: { allowShrink: true } });
    expect(removed?.change).toMatchObject({ before: { claims: changed.claims } });
    expect(JSON.stringify(events)).not.toContain('nobody-may-read-this');
  });

  it('include before and after for registry.create, update and delete', async () => {
    const at = '/v1/registries/short-lived';
    const first = { sources: ['declared'], claims: { org: 'acme' } };
    const second = { sources: ['declared', 'published'], claims: { org: 'acme' } };
    expect((await ada().put(at, first)).status).toBe(201);
    expect((await ada().put(at, second)).status).toBe(200);
    expect((await ada().delete(at)).status).toBe(204);
    const changes = (await auditOf(ada(), 'target=short-lived'))
      .filter(({ target }) => target.type === 'registry')
      .map(({ action, change }) => ({ action, change }));
    expect(changes).toEqual([
      { action: 'registry.delete', change: { before: second } },
      { action: 'registry.update', change: { before: first, after: second } },
      { action: 'registry.create', change: { after: first } },
    ]);
  });

  it('are not recorded for a request that changes nothing', async () => {
    const name = aName();
    await wim().post('/v1/entries', aPublication('server', name, CLAIMS));
    const registry = { sources: ['declared'], claims: { org: 'acme' } };
    await ada().put('/v1/registries/same', registry);
    await expectNoEvent(
      await ada().put('/v1/registries/same', registry),
      await wim().put(entryAt('server', name, '/claims'), { claims: CLAIMS }),
      await wim().patch(entryAt('server', name, '/status'), { status: 'active' }),
      await wim().post('/v1/entries?dry_run=true', aPublication('server', aName(), CLAIMS)),
      await wim().post('/v1/entries/validate', aPublication('server', aName(), CLAIMS)),
    );
  });

  it('are also in the log with context audit', async () => {
    const name = aName();
    const reply = await wim().post('/v1/entries', aPublication('server', name, CLAIMS));
    const id = reply.headers['x-request-id'];
    const lines = service.logs().filter((line) => line['requestId'] === id && line['context'] === 'audit');
    const [event] = await auditOf(sigrid(), `target=${name}`);
    expect(lines).toEqual([expect.objectContaining({ context: 'audit', level: 'info', id: event?.id })]);
    expect(lines[0]).toMatchObject({ ...event, time: expect.any(String), at: event?.time });
  });
});

describe('a failed request leaves no audit event', () => {
  it('400, 404, 409 and 412', async () => {
    const failed: readonly [status: number, reply: Reply][] = [
      [400, await wim().post('/v1/entries', aPublication('server', aName(), { org: 'contoso' }))],
      [400, await ada().put('/v1/registries/n', { sources: ['none'] })],
      [409, await sigrid().put('/v1/sources/second', { managed: {} })],
      [412, await ada().put('/v1/sources/new', SOURCE, { 'If-Match': '"none"' })],
      [404, await ada().get('/v1/sources/nothing')],
      [404, await ada().get('/v1/nothing')],
    ];
    for (const [status, reply] of failed) expect(reply.status, reply.text).toBe(status);
    await expectNoEvent(...failed.map(([, reply]) => reply));
  });

  it('500 after a rollback of the change', async () => {
    const name = aName();
    await service.database.query(`create function refuse() returns trigger language plpgsql as $$ begin
      if new.document like '%refused-at-commit%' then raise exception 'refused at commit'; end if; return null; end $$`);
    await service.database.query(`create constraint trigger refused after insert on entry_version
      deferrable initially deferred for each row execute function refuse()`);
    const more = { description: 'refused-at-commit' };
    const reply = await wim().post('/v1/entries', aPublication('server', name, CLAIMS, '1.0.0', more));
    expect(reply.status).toBe(500);
    await expectNoEvent(reply);
    const lines = service.logs().filter(({ context }) => context === 'audit');
    expect(lines.filter((line) => line['requestId'] === reply.headers['x-request-id'])).toEqual([]);
    // Control: the same publication without the failure.
    const good = await wim().post('/v1/entries', aPublication('server', name, CLAIMS));
    expect(good.status).toBe(201);
    expect(await auditOf(sigrid(), `target=${name}`)).toHaveLength(1);
  });
});

describe('audit events of refusals', () => {
  const NOT_KNOWN = { subject: null, issuer: null, roles: [] };

  it('record a 401 without a subject or the token', async () => {
    const missing = await service.delete('/v1/sources/declared');
    expect(await eventsOf(sigrid(), missing)).toMatchObject([
      {
        action: 'auth.refused',
        outcome: 'refused',
        code: 'token_missing',
        step: 'token',
        actor: NOT_KNOWN,
        target: { type: 'source', name: 'declared' },
        sourceIp: '127.0.0.1',
      },
    ]);
    const expired = await service.bearing(service.issuer.sign({ sub: 'late', exp: 1 })).get('/registry');
    expect(await eventsOf(sigrid(), expired)).toMatchObject([
      { action: 'auth.refused', code: 'token_invalid', actor: NOT_KNOWN, target: { type: 'route' } },
    ]);
  });

  it.each([
    ['for a missing role', 'role_required', 'entry.publish', 'roles', () => pia().post('/v1/entries', {})],
    [
      'at the gate',
      'registry_forbidden',
      'catalog.read',
      'gate',
      () => carl().get('/registry/main/v0.1/servers'),
    ],
    [
      'for a resource of the configuration file',
      'config_managed',
      'source.delete',
      'origin',
      () => ada().delete('/v1/sources/declared'),
    ],
  ])('record a 403 %s', async (_of, code, action, step, send) => {
    const reply = await send();
    expectRefused(reply, 403, code);
    const [event, ...others] = await eventsOf(sigrid(), reply);
    expect(others).toEqual([]);
    expect(event).toMatchObject({ action, outcome: 'refused', code, step });
    expect(event?.actor.subject).toEqual(expect.any(String));
  });

  it.each([
    ['a source', 'source.read', 'source', 'declared', (name: string) => `/v1/sources/${name}`],
    ['a registry', 'registry.read', 'registry', 'main', (name: string) => `/v1/registries/${name}`],
  ])('record a 404 for %s that is hidden, but not when missing', async (_what, action, step, name, at) => {
    const hidden = await carl().get(at(name));
    const missing = await carl().get(at('nothing'));
    expect(await eventsOf(sigrid(), hidden)).toMatchObject([
      { action, outcome: 'refused', step, target: { type: step, name }, actor: { subject: 'carl' } },
    ]);
    await expectNoEvent(missing);
    expect(timeless(hidden)).toBe(timeless(missing));
  });

  it('record a 404 for a hidden entry, but not for a missing one', async () => {
    const name = aName();
    await wim().post('/v1/entries', aPublication('server', name, CLAIMS));
    const dirk = service.as({ sub: 'dirk', org: 'acme', team: 'data', role: 'writer' });
    const hidden = await dirk.delete(entryAt('server', name, '/versions/1.0.0'));
    const missing = await dirk.delete(entryAt('server', aName(), '/versions/1.0.0'));
    expect(await eventsOf(sigrid(), hidden)).toMatchObject([
      {
        action: 'entry.delete',
        code: 'entry_not_found',
        step: 'entry',
        target: { type: 'server', name, version: '1.0.0' },
        actor: { subject: 'dirk', roles: ['manageEntries'] },
      },
    ]);
    await expectNoEvent(missing);
    expect(timeless(hidden)).toBe(timeless(missing));
    expect(Object.keys(hidden.headers)).toEqual(Object.keys(missing.headers));
    expect(hidden.headers['content-length']).toBe(missing.headers['content-length']);
  });
});

describe('audit events of syncs and configuration changes', () => {
  const events = async (action: string, target: string) =>
    (await auditOf(sigrid(), `action=${action}&target=${target}`)).map(({ actor, change }) => ({
      actor: actor.subject,
      change,
    }));

  it('include counts and duration in sync.run, which is absent when nothing changed', async () => {
    await service.synced('declared');
    const before = await events('sync.run', 'declared');
    const durationMs = expect.any(Number) as number;
    expect(before).toEqual([
      { actor: 'sync', change: { after: { added: 1, changed: 0, removed: 0, durationMs } } },
    ]);
    await service.rewrite('declared', { servers: [aServer('io.acme/b'), aServer('io.acme/c')] });
    await service.synced('declared');
    await service.synced('declared');
    expect(await events('sync.run', 'declared')).toEqual([
      { actor: 'sync', change: { after: { added: 2, changed: 0, removed: 1, durationMs } } },
      ...before,
    ]);
  });

  it('include before and after in config.apply, which is absent when nothing changed', async () => {
    const start = await events('config.apply', 'declared');
    expect(start).toMatchObject([{ actor: 'configuration', change: { after: { claims: { org: 'acme' } } } }]);
    await service.restart();
    expect(await events('config.apply', 'declared')).toEqual(start);
    await service.reload((edited) =>
      edited
        .source('declared', { servers: [aServer('io.acme/b')], claims: { org: 'acme', team: 'data' } })
        .source('passing', { servers: [aServer('io.acme/p')] })
        .registry('passing', { sources: ['passing'] }),
    );
    const [changed] = await events('config.apply', 'declared');
    expect(changed?.change).toMatchObject({
      before: { claims: { org: 'acme' } },
      after: { claims: { org: 'acme', team: 'data' } },
    });
    await service.reload((edited) => edited.withoutRegistry('passing').withoutSource('passing'));
    const left = await events('config.apply', 'passing');
    expect(left.slice(0, 2).map(({ change }) => change)).toEqual([
      { before: expect.objectContaining({ kind: 'file' }) },
      { before: { sources: ['passing'], claims: {} } },
    ]);
  });
});

describe('publishedBy of a version', () => {
  it('is shown to managers and not to consumers', async () => {
    const name = aName();
    await wim().post('/v1/entries', aPublication('server', name, CLAIMS));
    const publishedBy = { subject: 'wim', issuer: service.issuer.iss, client: 'ci' };
    expect((await wim().get(entryAt('server', name))).json).toMatchObject({ versions: [{ publishedBy }] });
    expect((await wim().get(entryAt('server', name, '/versions/1.0.0'))).json).toMatchObject({ publishedBy });
    const consumed = await pia().get(
      `/registry/main/v0.1/servers/${encodeURIComponent(name)}/versions/1.0.0`,
    );
    expect(consumed.status).toBe(200);
    expect(consumed.text).not.toMatch(/publishedBy|wim/);
  });
});

describe('a change whose audit event cannot be written', () => {
  const name = aName();
  const kept = aName();
  const source = '/v1/sources/unrecorded';
  const registry = '/v1/registries/unrecorded';
  const state = async () =>
    Promise.all(
      ['/v1/sources', '/v1/registries', '/v1/entries', entryAt('server', kept)].map(
        async (path) => (await sigrid().get(path)).json,
      ),
    );

  it('is rolled back with 500 internal_error', async () => {
    await wim().post('/v1/entries', aPublication('server', kept, CLAIMS));
    await sigrid().put(registry, { sources: ['published'] });
    // A restart in an earlier test may have started a sync.
    await service.synced('declared');
    const before = await state();
    await service.database.query(
      `create function fail() returns trigger language plpgsql as $$ begin raise exception 'no room'; end $$;
       create trigger fail before insert on audit_event for each row when (new.outcome = 'allowed') execute function fail()`,
    );
    const replies = [
      await wim().post('/v1/entries', aPublication('server', name, CLAIMS)),
      await wim().post('/v1/entries', aPublication('server', kept, CLAIMS, '2.0.0')),
      await wim().put(entryAt('server', kept, '/claims'), { claims: { org: 'acme' } }),
      await wim().patch(entryAt('server', kept, '/status'), { status: 'deprecated' }),
      await wim().delete(entryAt('server', kept, '/versions/1.0.0')),
      await sigrid().put(source, SOURCE),
      await sigrid().put(registry, { sources: ['declared'] }),
      await sigrid().delete(registry),
      await sigrid().post('/v1/sources/declared/sync', {}),
    ];
    await service.database.query('drop trigger fail on audit_event');
    for (const reply of replies) expectRefused(reply, 500, 'internal_error');
    expect(await state()).toEqual(before);
    expect((await wim().post('/v1/entries', aPublication('server', name, CLAIMS))).status).toBe(201);
  });
});
