import { describe, expect, it } from 'vitest';
import { dump } from '../../dist/cli/dump.js';
import { auditOf } from '../support/audit.js';
import { ACME_DATA, SUPER_ADMIN } from '../support/callers.js';
import { Cli } from '../support/cli.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aServer, aSkill } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { cursorIn, versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';

const LIST = '/registry/main/v0.1/servers';
const SKILLS = '/registry/main/v0.1/x/dev.toolhive/skills';
const names = Array.from({ length: 12 }, (_, index) => `io.acme/s${index}`);

const urlOf = ({ user, host, port, database }: TestDatabase) =>
  `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`;

describe('the dump command', () => {
  const folder = aFolder();
  const service = aService({ mode: 'full' })
    .source('main', {
      servers: names.map((name) => aServer(name)),
      skills: [aSkill('io.acme/deploy')],
      claims: ACME_DATA,
    })
    .source('published', { kind: 'managed' })
    .registry('main', { sources: ['main', 'published'] })
    .runs();

  it('copies a database: responses are the same, and cursors stay valid', async () => {
    const admin = service.as(SUPER_ADMIN);
    for (const version of ['1.0.0', '1.1.0']) {
      const body = { server: aServer('io.acme/made', version), claims: ACME_DATA };
      expect((await admin.post('/v1/entries', body)).status).toBe(201);
    }
    const paths = [LIST, `${LIST}?search=made`, `${LIST}?limit=5`, SKILLS, `${LIST}/io.acme%2Fmade/versions`];
    const answers = async () =>
      Promise.all(paths.map(async (path) => (await service.as(ACME_DATA).get(path)).json as unknown));
    const rest = async (cursor: string) =>
      versionsIn(await service.as(ACME_DATA).get(`${LIST}?cursor=${cursor}`));
    const [before, events] = [await answers(), await auditOf(admin)];
    const cursor = cursorIn(await service.as(ACME_DATA).get(`${LIST}?limit=5`)) ?? '';
    const remaining = await rest(cursor);
    await service.stop();

    const [old, other] = [service.database, await aDatabase({ migrated: false })];
    const config = folder.write(
      'registry.yaml',
      JSON.stringify({ auth: { mode: 'anonymous' }, database: old.connection }),
    );
    const url = urlOf(other);
    expect(await new Cli(['dump', '--config', config, '--to', url]).finished).toMatchObject({
      code: 0,
      output: expect.stringContaining('\nentry_version: 15 row(s)\n') as string,
    });
    // The target is no longer empty.
    expect(await dump(config, url)).toBe(1);

    service.database = other;
    await service.start();
    expect(await answers()).toEqual(before);
    expect(await rest(cursor)).toEqual(remaining);
    expect((await auditOf(service.as(SUPER_ADMIN))).filter(({ action }) => action !== 'sync.run')).toEqual(
      events.filter(({ action }) => action !== 'sync.run'),
    );
    const more = { server: aServer('io.acme/later'), claims: ACME_DATA };
    expect((await service.as(SUPER_ADMIN).post('/v1/entries', more)).status).toBe(201);
    expect(versionsIn(await service.as(ACME_DATA).get(`${LIST}?search=later`))).toEqual([
      'io.acme/later@1.0.0',
    ]);
    await old.drop();
  });

  it('refuses a database with pending migrations, and copies nothing', async () => {
    const [old, other] = [await aDatabase({ migrated: false }), await aDatabase({ migrated: false })];
    const config = folder.write(
      'old.yaml',
      JSON.stringify({ auth: { mode: 'anonymous' }, database: old.connection }),
    );
    expect(await dump(config, urlOf(other))).toBe(1);
    for (const database of [old, other])
      expect(await database.query(`select to_regclass('schema_migration')::text as name`)).toEqual([
        { name: null },
      ]);
    await Promise.all([old.drop(), other.drop()]);
  });
});
