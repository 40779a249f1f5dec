import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { outcomeOf, serversIn } from '../support/answers.js';
import { auditOf } from '../support/audit.js';
import { ACME_DATA, SUPER_ADMIN } from '../support/callers.js';
import { Cli } from '../support/cli.js';
import { aDatabase } from '../support/database.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { call } from '../support/http.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const LIST = '/registry/acme/v0.1/servers';
const WRITER = { ...ACME_DATA, role: 'editor' };

describe('reload of the configuration', () => {
  const service = aService({ mode: 'full' })
    .source('data', { claims: { org: 'acme', team: 'data' }, servers: [aServer('io.acme/data')] })
    .source('web', { claims: { org: 'acme', team: 'web' }, servers: [aServer('io.acme/web')] })
    .source('published', { kind: 'managed' })
    .registry('acme', { sources: ['data', 'web', 'published'], claims: { org: 'acme' } })
    .runs();
  const seen = async (claims = ACME_DATA) => {
    const reply = await service.as(claims).get(LIST);
    return reply.status === 200 ? serversIn(reply) : outcomeOf(reply);
  };
  const applied = async () =>
    (await auditOf(service.as(SUPER_ADMIN), 'action=config.apply')).map(({ target, actor, change }) => ({
      target: `${target.type} ${target.name}`,
      actor: actor.subject,
      change,
    }));

  it('applies changed, new and removed sources and registries immediately', async () => {
    expect(await seen()).toEqual(['io.acme/data']);
    const claims = { org: 'acme', team: 'web' };
    expect(
      await service.reload((edited) => edited.source('data', { claims, servers: [aServer('io.acme/data')] })),
    ).toEqual({
      changes: ['source data: changed'],
      waiting: [],
    });
    expect(await seen()).toEqual([]);
    await service.reload((edited) =>
      edited
        .source('data', { claims: { org: 'acme', team: 'data' }, servers: [aServer('io.acme/data')] })
        .registry('acme', { sources: ['data', 'web', 'published'], claims: { org: 'contoso' } }),
    );
    expect(await seen()).toBe('403 registry_forbidden');
    await service.reload((edited) =>
      edited
        .registry('acme', { sources: ['data', 'web', 'published'], claims: { org: 'acme' } })
        .source('new', { claims: { org: 'acme', team: 'data' }, servers: [aServer('io.acme/new')] })
        .registry('new', { sources: ['new'] }),
    );
    expect(await seen()).toEqual(['io.acme/data']);
    await service.synced('new');
    expect(serversIn(await service.as(ACME_DATA).get('/registry/new/v0.1/servers'))).toEqual(['io.acme/new']);
    const { changes } = await service.reload((edited) => edited.withoutRegistry('new').withoutSource('new'));
    expect(changes).toEqual(['registry new: removed', 'source new: removed with its entries']);
    expect(outcomeOf(await service.as(ACME_DATA).get('/registry/new/v0.1/servers'))).toBe(
      '404 registry_not_found',
    );
  });

  /** Runs `work` while another session holds a lock on these rows. */
  const whileLocked = async <T>(condition: string, work: () => Promise<T>): Promise<T> => {
    const { database } = service;
    await database.query('begin');
    try {
      await database.query(`select id from source where ${condition} for update`);
      await database.query(
        `select source_id from source_sync y join source on source.id = y.source_id where ${condition} for update of y`,
      );
      await database.query('select id from registry for update');
      return await work();
    } finally {
      await database.query('rollback');
    }
  };

  it('of an unchanged file, like the start of a replica, does not wait for locked rows or changes in progress', async () => {
    await service.reload();
    const replica = service.replica();
    const changes = await whileLocked('true', async () => {
      // Takes the lock that a change through the API takes.
      await service.database.query('select pg_advisory_xact_lock_shared(7264018532)');
      await replica.start();
      return (await service.reload()).changes;
    });
    await replica.stop();
    expect(changes).toEqual([]);
  });

  it('of a changed file waits only for the rows that it changes', async () => {
    const claims = { org: 'acme', team: 'other' };
    const edit = (edited: typeof service) =>
      edited.source('web', { claims, servers: [aServer('io.acme/web')] });
    const { changes } = await whileLocked(`name <> 'web'`, () => service.reload(edit));
    expect(changes).toEqual(['source web: changed']);
    await service.reload((edited) =>
      edited.source('web', { claims: { org: 'acme', team: 'web' }, servers: [aServer('io.acme/web')] }),
    );
  });

  it('applies changed roles immediately, even to cached callers, and records config.apply', async () => {
    const publish = async (name: string) =>
      outcomeOf(await service.as(WRITER).post('/v1/entries', { server: aServer(name), claims: ACME_DATA }));
    expect(await publish('io.acme/one')).toBe('403 role_required');
    const before = await applied();
    const roles = {
      manageEntries: [{ role: 'editor' }],
      superAdmin: [{ role: 'super-admin' }, { team: 'data' }],
    };
    expect((await service.reload((edited) => edited.auth({ roles }))).changes).toEqual([
      'auth.authz: changed',
    ]);
    expect(await publish('io.acme/one')).toBe('201');
    expect(await seen()).toEqual(['io.acme/data', 'io.acme/one', 'io.acme/web']);
    await service.reload((edited) =>
      edited.auth({ roles: { manageEntries: [{ role: 'writer' }], superAdmin: [{ role: 'super-admin' }] } }),
    );
    expect(await publish('io.acme/two')).toBe('403 role_required');
    expect(await seen()).toEqual(['io.acme/data', 'io.acme/one']);
    expect((await service.reload()).changes).toEqual([]);
    const events = (await applied()).slice(0, -before.length);
    expect(events).toMatchObject([
      {
        target: 'configuration auth.authz',
        actor: 'configuration',
        change: { after: { roles: { manageEntries: [{ role: 'writer' }] } } },
      },
      {
        change: {
          before: { mode: 'full' },
          after: { mode: 'full', roles: { manageEntries: [{ role: 'editor' }] } },
        },
      },
    ]);
    expect(events[0]?.change?.before).toEqual(events[1]?.change?.after);
  });

  it('applies a changed auth.authz.policy', async () => {
    const claims = { org: ['acme', 'contoso'] };
    await service.reload((edited) => edited.registry('acme', { sources: ['data'], claims }));
    expect(await seen()).toBe('403 registry_forbidden');
    await service.reload((edited) => edited.auth({ policy: { arrayValues: 'any' } }));
    expect(await seen()).toEqual(['io.acme/data']);
    await service.reload((edited) => edited.auth({ policy: { arrayValues: 'all' } }));
    expect(await seen()).toBe('403 registry_forbidden');
    const restored = { sources: ['data', 'web', 'published'], claims: { org: 'acme' } };
    await service.reload((edited) => edited.registry('acme', restored));
  });

  it('lists the changes that require a restart, and applies the rest', async () => {
    const reloaded = await service.reload((edited) =>
      edited
        .configuration({ limits: { connections: 17 }, cors: { origins: [] } })
        .registry('second', { sources: ['data'] }),
    );
    expect(reloaded).toEqual({ changes: ['registry second: created'], waiting: ['cors', 'limits'] });
    expect((await service.reload()).waiting).toEqual(['cors', 'limits']);
    service.configuration({ limits: {}, cors: { origins: ['*'] } });
    expect((await service.reload()).waiting).toEqual([]);
  });

  it('only removes roles while changed publicPaths wait for a restart, and reports the rules as waiting', async () => {
    const ask = async (role: string) => outcomeOf(await service.as({ role }).get('/v1/sources'));
    expect([await ask('admin'), await ask('boss')]).toEqual(['200', '403 role_required']);
    const manageSources = [{ role: 'boss' }];
    const { changes, waiting } = await service.reload((edited) =>
      edited.auth({ publicPaths: ['/v1/other'], roles: { manageSources } }),
    );
    expect([changes, waiting]).toEqual([[], ['auth.oauth.publicPaths', 'auth.authz']]);
    expect(
      (await auditOf(service.as(SUPER_ADMIN), 'action=config.apply&target=auth.authz'))[0],
    ).toMatchObject({
      waiting,
      change: { after: { roles: { manageSources } } },
    });
    expect([await ask('admin'), await ask('boss')]).toEqual(['403 role_required', '403 role_required']);
    await service.restart();
    expect([await ask('admin'), await ask('boss')]).toEqual(['403 role_required', '200']);
  });

  it('applies a changed auth.mode, with its role rules, only at a restart', async () => {
    const ask = async (role: string) => outcomeOf(await service.as({ role }).get('/v1/sources'));
    await service.reload((edited) => edited.auth({ roles: { manageSources: [{ role: 'admin' }] } }));
    expect([await ask('admin'), await ask('boss')]).toEqual(['200', '403 role_required']);
    expect((await service.reload((edited) => edited.auth({ mode: 'anonymous' }))).waiting).toEqual([
      'auth.mode',
      'auth.oauth',
      'auth.authz',
    ]);
    expect([await ask('admin'), await ask('boss')]).toEqual(['200', '403 role_required']);
    expect(outcomeOf(await service.get(LIST))).toBe('401 token_missing');
    expect(await seen()).toEqual(['io.acme/data', 'io.acme/one']);
    await service.restart((edited) => edited.auth({ mode: 'full' }));
  });

  it('records changed roles once, at startup', async () => {
    const before = (await applied()).length;
    await service.restart((edited) => edited.auth({ roles: { manageRegistries: [{ role: 'other' }] } }));
    await service.restart();
    const [event, ...earlier] = await applied();
    expect(earlier).toHaveLength(before);
    expect(event).toMatchObject({
      target: 'configuration auth.authz',
      change: { after: { roles: { manageRegistries: [{ role: 'other' }] } } },
    });
  });
});

describe('SIGHUP', () => {
  const folder = aFolder();

  it('reloads the file; an invalid one changes nothing', async () => {
    const database = await aDatabase();
    const good = { auth: { mode: 'anonymous' }, database: database.connection, registries: [] };
    const source = { name: 'published', managed: {} };
    const file = folder.write('registry.yaml', JSON.stringify(good));
    const served = Cli.serve(file);
    const origin = await served.origin();
    const write = (tree: object) => writeFileSync(join(folder.path, 'registry.yaml'), JSON.stringify(tree));
    const status = async () => (await call(`${origin}/registry/main/v0.1/servers`)).status;
    expect(await status()).toBe(404);
    write({
      ...good,
      sources: [source],
      registries: [{ name: 'main', sources: ['published'] }],
      readOnly: true,
    });
    served.child.kill('SIGHUP');
    expect(await served.logs('require a restart')).toMatch(
      /was applied.*these changes require a restart: readOnly"/s,
    );
    expect(await status()).toBe(200);
    write({ ...good, registries: [{ name: 'main', sources: ['nowhere'] }] });
    served.child.kill('SIGHUP');
    expect(await served.logs('was not applied')).toMatch(/registries\[0\]\.sources\[0\]/);
    await within(20_000, async () => expect(await status()).toBe(200));
    served.child.kill('SIGTERM');
    expect((await served.finished).code).toBe(0);
    await database.drop();
  });
});
