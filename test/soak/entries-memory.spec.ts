import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { Cli } from '../support/cli.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aServer, type Document } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { callWith, type Reply } from '../support/http.js';
import { aDocument, consumerAt, entryAt, type Type, TYPES } from '../support/publishing.js';

const MIB = 1_024 * 1_024;
const VERSIONS = 200;
/** Enough to exceed the heap, and fewer requests. */
const PAGES = 20;
const NAMES: Record<Type, string> = { server: 'io.acme/large', skill: 'io.acme/long' };

// 200 versions of one megabyte each, published before the limits existed.
describe('with a heap of 256 MiB and entries of 200 MB', () => {
  const folder = aFolder();
  let database: TestDatabase;
  let served: Cli;
  let origin = '';
  beforeAll(async () => {
    database = await aDatabase();
    const configuration = {
      auth: { mode: 'anonymous' },
      database: database.connection,
      sources: [{ name: 'published', managed: {} }],
      registries: [{ name: 'main', sources: ['published'], publishClaims: { org: 'acme' } }],
    };
    served = Cli.serve(folder.write('registry.yaml', stringify(configuration)), {
      NODE_OPTIONS: '--max-old-space-size=256',
    });
    origin = await served.origin();
    for (const type of TYPES) {
      const large = aDocument(type, NAMES[type], '1.0.0', { _meta: { filler: 'x'.repeat(1_000_000) } });
      await send('POST', '/v1/entries', {
        [type]: aDocument(type, NAMES[type], '0.1.0'),
        claims: { org: 'acme' },
      });
      await addVersions(type, large);
    }
  });
  afterAll(async () => {
    served.child.kill('SIGTERM');
    await served.finished;
    await database.drop();
  });

  const send = (method: string, path: string, body?: unknown): Promise<Reply> =>
    callWith(origin + path, method, { body });

  /** Inserts 1.0.0 to 1.199.0 as copies of a document. */
  async function addVersions(type: Type, document: Document): Promise<void> {
    const [before, after] = JSON.stringify(document).split('"1.0.0"') as [string, string];
    await database.query(
      `insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at,
         published_at, updated_at, is_latest, search)
       select e.id, '1.' || n || '.0', '2' || to_char(n, '0000'), $2 || '"1.' || n || '.0"' || $3, $4, 'active', now(),
         now(), now(), false, 'x'
       from entry e, generate_series(0, $5::int - 1) n where e.name = $1`,
      [NAMES[type], before, after, createHash('sha256').update(before).digest(), VERSIONS],
    );
  }

  function expectRoom(): void {
    if (process.platform !== 'linux') return;
    const status = readFileSync(`/proc/${served.child.pid}/status`, 'utf8');
    expect(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024).toBeLessThan(400 * MIB);
  }

  it.each(TYPES)('reads a %s with its versions, several at a time', async (type) => {
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => send('GET', entryAt(type, NAMES[type]))),
    );
    for (const { status, json } of replies) {
      expect(status).toBe(200);
      expect((json as { versions: unknown[] }).versions).toHaveLength(VERSIONS + 1);
    }
    expectRoom();
  });

  it.each(TYPES)('pages through the versions of a %s, 1 MiB at a time', async (type) => {
    const listKey = `${type}s`;
    const found: unknown[] = [];
    let query = '';
    do {
      const reply = await send('GET', `${consumerAt(type, NAMES[type], '/versions')}${query}`);
      expect(reply.status).toBe(200);
      expect(reply.bytes.length).toBeLessThan(1.1 * MIB);
      const page = reply.json as Record<string, Record<string, Document>[]> & {
        metadata: { nextCursor?: string };
      };
      found.push(
        ...(page[listKey] ?? []).map((item) => (type === 'server' ? item['server'] : item)?.['version']),
      );
      query = page.metadata.nextCursor === undefined ? '' : `?cursor=${page.metadata.nextCursor}`;
    } while (query !== '' && found.length < PAGES);
    expect(new Set(found).size).toBe(PAGES);
    expectRoom();
  });

  it('lists the entries of the source without their documents', async () => {
    const reply = await send('GET', '/v1/sources/published/entries');
    const { entries } = reply.json as { entries: { versions: unknown[] }[] };
    expect(entries.map(({ versions }) => versions.length)).toEqual([VERSIONS + 1, VERSIONS + 1]);
    expectRoom();
  });

  it.each(TYPES)('sets the status of all versions of a %s', async (type) => {
    const reply = await send('PATCH', entryAt(type, NAMES[type], '/status'), { status: 'deprecated' });
    expect(reply.status).toBe(200);
    const { versions } = reply.json as { versions: { status: string }[] };
    expect(versions.filter(({ status }) => status === 'deprecated')).toHaveLength(VERSIONS + 1);
    const last = await send('GET', entryAt(type, NAMES[type], '/versions/1.0.0'));
    const document = (last.json as Record<string, Document>)[type];
    expect(document?.['status']).toBe(type === 'skill' ? 'deprecated' : undefined);
    expect(document?.['version']).toBe('1.0.0');
    expectRoom();
  });

  it('returns to mcp-publisher the count of all versions and 1 MiB of them', async () => {
    const path = `/registry/main/v0.1/servers/${encodeURIComponent(NAMES.server)}/status`;
    const reply = await send('PATCH', path, { status: 'active' });
    expect(reply.status).toBe(200);
    const { updatedCount, servers } = reply.json as { updatedCount: number; servers: { server: Document }[] };
    expect(updatedCount).toBe(VERSIONS + 1);
    expect(servers.map(({ server }) => server['version'])).toEqual(['1.199.0']);
    expectRoom();
  });

  it.each(TYPES)('changes claims, refuses more and removes versions of a %s', async (type) => {
    const body = { [type]: aDocument(type, NAMES[type], '9.0.0'), claims: { org: 'acme' } };
    for (const path of ['/v1/entries', '/v1/entries/validate', '/v1/entries?dry_run=true'])
      expect(await send('POST', path, body)).toMatchObject({ status: 409, json: { code: 'entry_full' } });
    expect(
      (await send('PUT', entryAt(type, NAMES[type], '/claims'), { claims: { org: 'other' } })).status,
    ).toBe(204);
    for (const version of ['1.199.0', '1.0.0'])
      expect((await send('DELETE', entryAt(type, NAMES[type], `/versions/${version}`))).status).toBe(204);
    const { versions } = (await send('GET', entryAt(type, NAMES[type]))).json as { versions: unknown[] };
    expect(versions).toHaveLength(VERSIONS - 1);
    expect((await send('POST', '/v1/entries', { server: aServer(`io.acme/other-${type}`) })).status).toBe(
      201,
    );
    expectRoom();
  });
});
