import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrateUp } from '../../dist/database/migrate.js';
import { createDataSource } from '../../dist/database/open-database.js';
import { decide, itemsFor } from '../support/admission.js';
import { aSkillFile, aZip } from '../support/archives.js';
import { auditOf } from '../support/audit.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aServer, aSkill, type Document } from '../support/documents.js';
import type { Reply } from '../support/http.js';
import { versionsIn } from '../support/matchers.js';
import { entryAt } from '../support/publishing.js';
import { aWebhookSecret, Receiver } from '../support/receiver.js';
import { aKey } from '../support/registry-keys.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

/**
 * The data that the program stored with the first schema, and its responses.
 * Until that schema is released, record them again with `RECORD_FIRST_SCHEMA=1 npx vitest run
 * test/api/migrations.first-schema.spec.ts`.
 */
const FILE = join(import.meta.dirname, 'migrations.first-schema.json');
interface Recorded {
  readonly at: number;
  /** The rows of each table. */
  readonly rows: Record<string, Document[]>;
  /** The responses to a super-admin, by path. */
  readonly answers: Record<string, unknown>;
}
/** Tables of unfinished work, which are empty once it is done. */
const TRANSIENT = ['admission_question', 'block_change'];

const LIST = '/registry/main/v0.1/servers';
const PATHS = [
  LIST,
  `${LIST}?version=latest`,
  `${LIST}/io.acme%2Fmade/versions`,
  '/registry/main/v0.1/x/dev.toolhive/skills',
  '/registry/main/x/search?q=made',
  '/registry/main/x/content/skill/io.acme/made/1.0.0/files',
  '/registry/main/x/content/skill/io.acme/made/1.0.0/members',
  '/registry/main/x/marketplace.json',
  '/registry/team/v0.1/servers',
  '/v1/entries',
  '/v1/sources/published/entries',
  '/v1/admission?status=held',
  '/v1/admission?status=rejected',
  '/v1/blocks',
  '/v1/audit?action=entry.publish',
  '/v1/audit?action=registry.create',
];
const [ACME, RED, BLUE] = [{ org: 'acme' }, { org: 'acme', team: 'red' }, { org: 'acme', team: 'blue' }];
const WRITER = { sub: 'wim', org: 'acme', role: 'writer' };
const REVIEWER = { sub: 'rita', org: 'acme', team: 'review' };
const GIT_PACKAGE = { registryType: 'git', url: 'https://git.example/skill.git', ref: 'main' };
const OTHERS = {
  skills: [aSkill('io.acme/fetched', '1.0.0', { packages: [GIT_PACKAGE] })],
  plugins: [aSkill('io.acme/plugin')],
};

const receiver = new Receiver().runs();
const tool = (more: Document = {}) => aServer('io.acme/tool', 'v1.1.0', more);
const TOOLS = [aServer('io.acme/tool'), tool(), aServer('io.acme/blocked')];
const service = aService({ mode: 'full' })
  .source('published', {
    kind: 'managed',
    settings: { review: [{ names: ['io.reviewed/*'], reviewers: { team: 'review' } }] },
  })
  .source('tools', {
    servers: TOOLS,
    ...OTHERS,
    claims: ACME,
    admission: { newNames: 'hold' },
  })
  .runs();
const admin = () => service.as(SUPER_ADMIN);
/** The source shows a name that was not in its first sync. */
const showAnother = () =>
  service.rewrite('tools', { servers: [...TOOLS, aServer('io.acme/held')], ...OTHERS });

beforeAll(async () => {
  service
    .registry('main', {
      sources: ['published', 'tools'],
      claims: {},
      anonymous: { claims: ACME },
      keys: [{ name: 'ci', secretFile: service.write('key', aKey()), claims: RED }],
      publishClaims: ACME,
      marketplace: { name: 'acme', owner: 'Acme' },
    })
    .configuration({
      webhooks: [
        {
          name: 'follower',
          url: receiver.url,
          secretFile: service.write('secret', aWebhookSecret()),
          as: { claims: ACME },
        },
      ],
    });
  if (process.env['RECORD_FIRST_SCHEMA']) await record();
});

describe('a database of the first schema', () => {
  let recorded: Recorded;
  let database: TestDatabase;
  beforeAll(async () => {
    const text = await readFile(FILE, 'utf8');
    const { at } = JSON.parse(text) as Recorded;
    recorded = JSON.parse(later(text, Date.now() - at)) as Recorded;
    await service.stop();
    await showAnother();
    database = service.database;
    service.database = await restore(recorded.rows);
    await service.start();
  });
  afterAll(() => database.drop());

  it('has rows of each kind', () => {
    const empty = Object.entries(recorded.rows).filter(([, rows]) => rows.length === 0);
    expect(empty.map(([table]) => table).sort()).toEqual(TRANSIENT);
  });

  it('is upgraded at startup and gives the same responses', async () => {
    expect(Object.keys(recorded.answers)).toEqual(PATHS);
    expect(await answers()).toMatchObject(recorded.answers);
  });

  it('accepts changes: claims move entries between views, and a new version becomes the latest', async () => {
    const seenBy = async (claims: Document, query = '') =>
      versionsIn(await service.as(claims).get(`${LIST}?search=acme/made&version=latest${query}`));
    expect([await seenBy(RED), await seenBy(BLUE)]).toEqual([['io.acme/made@1.1.0'], []]);
    const [{ now } = { now: new Date() }] = await service.database.query<{ now: Date }>('select now()');
    const moved = await admin().put(entryAt('server', 'io.acme/made', '/claims'), { claims: BLUE });
    expect(moved.status).toBe(204);
    expect([await seenBy(RED), await seenBy(BLUE)]).toEqual([[], ['io.acme/made@1.1.0']]);
    expect(await seenBy(BLUE, `&updated_since=${now.toISOString()}`)).toEqual(['io.acme/made@1.1.0']);
    await publish({ server: aServer('io.acme/made', '1.2.0'), claims: BLUE });
    expect(await seenBy(BLUE)).toEqual(['io.acme/made@1.2.0']);
    const events = await auditOf(admin(), 'target=io.acme%2Fmade');
    expect(events.slice(0, 2).map(({ action }) => action)).toEqual(['entry.publish', 'entry.claims.update']);
  });

  it('accepts syncs: a changed document gets the date of its change', async () => {
    await service.rewrite('tools', { servers: [tool({ title: 'Tool' })], ...OTHERS });
    expect(await service.synced('tools')).toMatchObject({ status: 'complete' });
    const changed = await service.database.query(
      `select v.version, v.document_changed_at = v.updated_at as dated from entry_version v join entry e on e.id = v.entry_id
       where e.name = 'io.acme/tool'`,
    );
    expect(changed).toEqual([{ version: 'v1.1.0', dated: true }]);
  });
});

/** Shifts all times, and the IDs that contain one, so that nothing is old enough to be deleted. */
function later(text: string, byMs: number): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)/g, (time) =>
      new Date(Date.parse(time) + byMs).toISOString(),
    )
    .replaceAll(
      /([\da-f]{8})-([\da-f]{4})(?=-7[\da-f]{3}-[89ab][\da-f]{3}-)/g,
      (_, high: string, low: string) => {
        const time = (parseInt(high + low, 16) + byMs).toString(16).padStart(12, '0');
        return `${time.slice(0, 8)}-${time.slice(8)}`;
      },
    );
}

async function answers(): Promise<Record<string, unknown>> {
  const all: Record<string, unknown> = {};
  for (const path of PATHS) {
    const reply = await admin().get(path);
    expect(reply.status, `${path}: ${reply.text}`).toBe(200);
    all[path] = reply.json;
  }
  return all;
}

/** Creates a database of the first schema with these rows. */
async function restore(rows: Recorded['rows']): Promise<TestDatabase> {
  const database = await aDatabase({ migrated: false });
  const owner = createDataSource({ ...database.connection, poolMax: 2 }, [], () => undefined);
  await owner.initialize();
  owner.migrations.splice(1);
  await migrateUp(owner);
  await owner.destroy();
  // Disables triggers, because the rows that they maintain were also recorded.
  await database.query('set session_replication_role = replica');
  for (const [table, recorded] of Object.entries(rows)) {
    const [first] = recorded;
    if (!first) continue;
    const columns = Object.keys(first);
    await database.query(
      `insert into ${table} (${columns.join(', ')}) overriding system value
       select ${columns.join(', ')} from json_populate_recordset(null::${table}, $1)`,
      [JSON.stringify(recorded)],
    );
    const sequence = `pg_get_serial_sequence('${table}', 'id')`;
    if (columns.includes('id') && typeof first['id'] === 'number')
      await database.query(`select setval(${sequence}, max(id)) from ${table} where ${sequence} is not null`);
  }
  await database.query('reset session_replication_role');
  return database;
}

async function publish(body: Document, by: Document = SUPER_ADMIN, status = 201): Promise<void> {
  done(await service.as(by).post('/v1/entries', body), status);
}

/** Makes the program write rows of each kind, and records them. */
async function record(): Promise<void> {
  await service.reload();
  await publish({ server: aServer('io.acme/made'), claims: { org: ['acme'], team: 'red' } });
  await publish({ server: aServer('io.acme/made', '1.1.0'), claims: RED });
  await publish({ server: aServer('io.acme/old'), claims: ACME });
  await publish({ skill: aSkill('io.acme/made'), claims: ACME });
  done(await admin().patch(entryAt('server', 'io.acme/old', '/status'), { status: 'deprecated' }), 200);
  const content = aZip([{ name: 'SKILL.md', data: aSkillFile('made', 'The skill io.acme/made') }]);
  done(
    await admin().send('PUT', entryAt('skill', 'io.acme/made', '/versions/1.0.0/content'), {
      body: content,
      headers: { 'Content-Type': 'application/zip' },
    }),
    204,
  );
  for (const version of ['1.0.0', '2.0.0', '3.0.0'])
    await publish({ server: aServer('io.reviewed/made', version), claims: ACME }, WRITER, 202);
  const decisions = ['approve', 'reject', 'comment'];
  for (const [index, item] of (await itemsFor(service.as(REVIEWER))).entries())
    done(
      await decide(service.as(REVIEWER), item, decisions[index] ?? 'comment', { comment: 'Reviewed' }),
      200,
    );
  done(await admin().put('/v1/blocks/test', { names: ['io.acme/blocked'], reason: 'SEC-1' }), 201);
  done(await admin().put('/v1/registries/team', { sources: ['published'], claims: RED }), 201);
  await showAnother();
  await service.synced('tools');
  done(await admin().delete(entryAt('server', 'io.acme/old', '/versions/1.0.0')), 204);
  await within(20_000, () => expect(receiver.deliveries.length).toBeGreaterThan(2));

  const rows: Recorded['rows'] = {};
  const recorded = await answers();
  const tables = await service.database.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'schema_migration' order by 1`,
  );
  for (const { name } of tables) {
    const all = await service.database.query<{ row: Document }>(`select to_json(t) as row from ${name} t`);
    rows[name] = all.map(({ row }) => row);
  }
  await writeFile(FILE, `${JSON.stringify({ at: Date.now(), answers: recorded, rows }, null, 1)}\n`);
}

function done({ status, text }: Reply, expected: number): void {
  expect(status, text).toBe(expected);
}
