import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { decide, type Item, itemsFor, shortly } from '../support/admission.js';
import { aZip } from '../support/archives.js';
import { aSkill, type Document } from '../support/documents.js';
import { EVASIONS } from '../support/evasions.js';
import { aTemporaryDirectory } from '../support/git-service.js';
import { aGitServer } from '../support/git-server.js';
import type { Reply, Sender } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { aName, entryAt } from '../support/publishing.js';
import { aWebhookSecret, Receiver } from '../support/receiver.js';
import { demandRevisions } from '../support/revisions.js';
import { aService, type ServiceUnderTest } from '../support/service.js';
import { waitingStatements } from '../support/waiting-statements.js';
import { within } from '../support/within.js';

aTemporaryDirectory();

const ACME = { org: 'acme' };
const ADMIN = { sub: 'ada', org: 'acme', role: ['super-admin', 'admin'] };
const WRITER = { sub: 'wim', org: 'acme', role: 'writer' };
const COLLEAGUE = { sub: 'carl', org: 'acme', role: 'writer' };
const REVIEWER = { sub: 'rita', org: 'acme', role: 'writer', team: 'review' };
const READER = { sub: 'rob', org: 'acme' };

const MARKETPLACE = { name: 'acme', owner: 'Acme' };

const git = aGitServer().runs();
const repository = git.repository('plugins');
const scanner = new Receiver().runs();

const service = aService({ mode: 'full' })
  .source('published', {
    kind: 'managed',
    settings: {
      review: [
        { names: ['com.reviewed/*'], contains: ['hooks', 'executables'], reviewers: { team: 'review' } },
        { names: ['com.reviewed/always-*'], reviewers: { team: 'review' } },
      ],
    },
    claims: ACME,
  })
  .source('mirror', { plugins: [], claims: ACME })
  .source('curated', {
    plugins: [],
    claims: ACME,
    admission: {
      rules: [
        { names: ['com.trusted/*'], minAge: '0s' },
        { names: ['com.curated/banned-*'], contains: ['hooks'], action: 'reject', reason: 'no hooks' },
        { names: ['*'], contains: ['hooks', 'lsp'], action: 'hold' },
      ],
    },
  })
  .registry('main', { sources: ['published', 'mirror', 'curated'], claims: ACME, marketplace: MARKETPLACE })
  .configuration({ content: { fetch: { hosts: ['127.0.0.1'] } } })
  .runs();
demandRevisions(service);

type Texts = Readonly<Record<string, string>>;

/** A plugin whose server starts an npm package. */
const starting = (identifier: string, more: Texts = {}): Texts => ({
  '.mcp.json': JSON.stringify({ mcpServers: { db: { command: 'npx', args: ['-y', identifier] } } }),
  ...more,
});
const hooked = (more: Texts = {}): Texts => ({
  'hooks/hooks.json': JSON.stringify({
    hooks: { PreToolUse: [{ hooks: [{ type: 'command', command: 'echo before' }] }] },
  }),
  ...more,
});
const plain = <More extends Texts>(more?: More) => ({ 'README.md': 'A plugin', ...more });

/** None of these names is part of another. */
const aPlugin = (namespace: string): string => `${aName(namespace)}-x`;
const as = (claims: Document): Sender => service.as(claims);
/** Has a README, because a single top-level folder is removed. */
const zipOf = (files: Texts): Buffer =>
  aZip(Object.entries(plain(files)).map(([name, data]) => ({ name, data })));
const publish = async (name: string, version = '1.0.0', more: Document = {}): Promise<Reply> =>
  as(WRITER).post('/v1/entries', { plugin: aSkill(name, version, more), claims: ACME });
const upload = (
  name: string,
  files: Texts,
  by: Document = WRITER,
  version = '1.0.0',
  at: ServiceUnderTest = service,
): Promise<Reply> =>
  at.as(by).send('PUT', entryAt('plugin', name, `/versions/${version}/content`), {
    body: zipOf(files),
    headers: { 'Content-Type': 'application/zip' },
  });

/** Publishes a plugin with content. */
async function publishWith(name: string, files: Texts, version = '1.0.0'): Promise<void> {
  expect((await publish(name, version)).status).toBe(201);
  const reply = await upload(name, files, WRITER, version);
  expect(reply.status, reply.text).toBe(204);
}

const PLUGINS = '/registry/main/v0.1/x/dev.toolhive/plugins';
const documentAt = (name: string, version = '1.0.0') => `${PLUGINS}/${name}/versions/${version}`;
const contentAt = (name: string, version = '1.0.0') => `/registry/main/x/content/plugin/${name}/${version}`;

/** Waits until consumers see the files of these plugins. */
const appear = (...names: string[]) =>
  within(20_000, async () => {
    for (const name of names) expect((await as(READER).get(`${contentAt(name)}/files`)).status).toBe(200);
  });
/** Waits until consumers do not see these plugins. */
const disappear = (...names: string[]) =>
  within(20_000, async () => {
    for (const name of names) expect((await as(READER).get(documentAt(name))).status).toBe(404);
  });

/** The places where consumers see a version: document, list, files, archive, marketplace. */
async function placesOf(
  name: string,
  version = '1.0.0',
  at: ServiceUnderTest = service,
): Promise<Record<string, boolean>> {
  const reader = at.as(READER);
  const content = contentAt(name, version);
  const has = async (path: string, isText = false) => {
    const { status, text } = await reader.get(path);
    return status === 200 && (!isText || text.includes(name.split('/')[1] ?? ''));
  };
  return {
    document: await has(documentAt(name, version)),
    list: await has(`${PLUGINS}?limit=100&search=${name.split('/')[1]}`, true),
    files: await has(`${content}/files`),
    zip: await has(`${content}.zip`),
    marketplace: await has('/registry/main/x/marketplace.json', true),
  };
}
const EVERYWHERE = { document: true, list: true, files: true, zip: true, marketplace: true };
const NOWHERE = { document: false, list: false, files: false, zip: false, marketplace: false };

const itemOf = async (name: string, by: Document = ADMIN): Promise<Item | undefined> =>
  (await itemsFor(as(by), `?name=${encodeURIComponent(name)}`))[0];
const detailsOf = async (name: string, by: Document = ADMIN): Promise<Document> =>
  (await as(by).get(`/v1/admission/${(await itemOf(name, by))?.id}`)).json as Document;
const reasonsOf = async (name: string): Promise<string> =>
  shortly(await itemsFor(as(ADMIN), `?name=${encodeURIComponent(name)}`)).join();

async function block(id: string, rule: Document, work: () => Promise<void>): Promise<void> {
  const reply = await as(ADMIN).put(`/v1/blocks/${id}`, { ...rule, reason: `see ${id}` });
  expect(reply.status, reply.text).toBe(201);
  try {
    await work();
  } finally {
    expect((await as(ADMIN).delete(`/v1/blocks/${id}`)).status).toBe(204);
  }
}
const npm = (identifier: string, version?: string) => ({
  packages: [{ registryType: 'npm', identifier, ...(version === undefined ? {} : { version }) }],
});

/** A git package with these files. */
async function committed(files: Texts): Promise<Document> {
  const commit = await repository.commit(plain(files));
  return { packages: [{ registryType: 'git', url: git.url('plugins'), commit }] };
}

async function sync(source: 'mirror' | 'curated', ...plugins: Document[]): Promise<void> {
  await service.rewrite(source, { plugins });
  await service.synced(source);
}

describe('a block of a package', () => {
  it('holds only plugins that start it, from the moment their content is stored', async () => {
    const [evil, good] = [aPlugin('com.evil'), aPlugin('com.good')];
    await block('set-before', npm('left-pad'), async () => {
      await publishWith(evil, starting('left-pad@1.3.0'));
      expect(await placesOf(evil)).toEqual(NOWHERE);
      await publishWith(good, starting('right-pad'));
      expect(await placesOf(good)).toEqual(EVERYWHERE);
      const item = await itemOf(evil);
      expect(item?.reasons).toMatchObject([
        { policy: 'block', message: 'Blocked: see set-before (server db starts npm:left-pad)' },
      ]);
      expect(await detailsOf(evil)).toMatchObject({
        members: { servers: [{ name: 'db', packages: [{ registryType: 'npm', identifier: 'left-pad' }] }] },
      });
      const question = { registry: 'main', entry: { type: 'plugin', name: evil } };
      const explained = await as(ADMIN).post('/v1/access/explain', question);
      expect(explained.text).toContain('server db starts npm:left-pad');
      const { text } = await as(ADMIN).get(
        `/v1/audit?action=admission.hold&target=${encodeURIComponent(evil)}`,
      );
      expect(text).toContain('server db starts npm:left-pad');
      expectRefused(await upload(evil, plain()), 404, 'entry_not_found');
    });
    expect(await placesOf(evil)).toEqual(EVERYWHERE);
  });

  it('counts, holds and releases plugins that are served, with their content', async () => {
    const name = aPlugin('com.evil');
    await publishWith(name, starting('pad-left@2.1.0'));
    const { json: before } = await as(READER).get(`${contentAt(name)}/files`);
    const preview = async (rule: Document) =>
      (await as(ADMIN).post('/v1/blocks/preview', { ...rule, reason: 'x' })).json;
    expect(await preview(npm('pad-left'))).toEqual({ matches: 1 });
    expect(await preview(npm('pad-left', '<2'))).toEqual({ matches: 0 });
    await block('set-after', npm('pad-*', '^2'), async () => {
      expect(await placesOf(name)).toEqual(NOWHERE);
      expect((await itemOf(name))?.reasons[0]?.message).toContain('server db starts npm:pad-left');
    });
    expect(await placesOf(name)).toEqual(EVERYWHERE);
    expect((await as(READER).get(`${contentAt(name)}/files`)).json).toEqual(before);
  });

  it('matches content that is stored already, under its digest', async () => {
    const [first, second] = [aPlugin('com.evil'), aPlugin('com.evil')];
    const files = starting('shared-pad');
    await publishWith(first, files);
    await block('by-digest', npm('shared-pad'), async () => {
      await publishWith(second, files);
      expect([await placesOf(first), await placesOf(second)]).toEqual([NOWHERE, NOWHERE]);
    });
    expect([await placesOf(first), await placesOf(second)]).toEqual([EVERYWHERE, EVERYWHERE]);
  });

  it('matches fetched content of published and synced plugins; syncs keep it held', async () => {
    const [published, synced, good] = [aPlugin('com.evil'), aPlugin('com.evil'), aPlugin('com.good')];
    const evil = await committed(starting('git-pad'));
    const other = await committed(starting('other-pad'));
    const documents = [aSkill(synced, '1.0.0', evil), aSkill(good, '1.0.0', other)];
    await block('fetched', npm('git-pad'), async () => {
      expect((await publish(published, '1.0.0', evil)).status).toBe(201);
      await sync('mirror', ...documents);
      await appear(good);
      await disappear(published, synced);
      expect(await placesOf(good)).toEqual(EVERYWHERE);
      expect([await placesOf(published), await placesOf(synced)]).toEqual([NOWHERE, NOWHERE]);
      // The source is read again, because its file has changed.
      await sync('mirror', ...documents, aSkill(aPlugin('com.more')));
      expect(await reasonsOf(synced)).toBe(`${synced}@1.0.0: block`);
      expect(await placesOf(synced)).toEqual(NOWHERE);
    });
    expect([await placesOf(published), await placesOf(synced)]).toEqual([EVERYWHERE, EVERYWHERE]);
  });

  it('matches servers that connect to a blocked remote; unreadable content matches both kinds of block', async () => {
    const [remote, unreadable] = [aPlugin('com.evil'), aPlugin('com.evil')];
    const url = 'https://evil.example/mcp';
    await publishWith(remote, { 'mcp.json': JSON.stringify({ mcpServers: { far: { url } } }) });
    await publishWith(unreadable, { '.mcp.json': '{ "mcpServers": ' });
    await block('remote', { remotes: ['https://evil.example/*'] }, async () => {
      expect([await placesOf(remote), await placesOf(unreadable)]).toEqual([NOWHERE, NOWHERE]);
      expect((await itemOf(unreadable))?.reasons[0]?.message).toContain('(unreadable file .mcp.json)');
    });
    await block('package', npm('anything'), async () => {
      expect([await placesOf(remote), await placesOf(unreadable)]).toEqual([EVERYWHERE, NOWHERE]);
    });
    await block('both', { ...npm('anything'), remotes: ['https://evil.example/*'] }, async () => {
      expect([await placesOf(remote), await placesOf(unreadable)]).toEqual([EVERYWHERE, NOWHERE]);
    });
    expect([await placesOf(remote), await placesOf(unreadable)]).toEqual([EVERYWHERE, EVERYWHERE]);
  });

  it('leaves no matching version visible if content arrives at the same time on another replica', async () => {
    const names = Array.from({ length: 8 }, () => aPlugin('com.race'));
    for (const name of names) expect((await publish(name)).status).toBe(201);
    const areHidden = async (at: ServiceUnderTest) => {
      for (const name of names)
        expect((await at.as(READER).get(`${contentAt(name)}/files`)).status).toBe(404);
    };
    const other = service.replica();
    await other.start();
    try {
      const uploads = names.map((name) => upload(name, starting('race-pad'), WRITER, '1.0.0', other));
      await block('race', npm('race-pad'), async () => {
        await areHidden(service);
        for (const reply of await Promise.all(uploads)) expect([204, 429]).toContain(reply.status);
        for (const at of [service, other]) await areHidden(at);
      });
    } finally {
      await other.stop();
    }
  });

  it('holds content that an upgrade reads again, and releases what no longer matches', async () => {
    const [evil, good] = [aPlugin('com.evil'), aPlugin('com.good')];
    await publishWith(evil, starting('unseen-pad'));
    const setMembers = (name: string, members: object) =>
      service.database.query(
        `update content_tree set members = $2, members_version = 0 where digest in (
           select c.tree from version_content c join entry_version v on v.id = c.version_id
             join entry e on e.id = v.entry_id where e.name = $1
           union select content_tree from admission_item where name = $1)`,
        [name, JSON.stringify(members)],
      );
    await setMembers(evil, {});
    await block('upgrade', npm('unseen-pad'), async () => {
      expect(await placesOf(evil)).toEqual(EVERYWHERE);
      await publishWith(good, starting('seen-pad'));
      await setMembers(good, { unreadable: ['.mcp.json'] });
      await block('touch', { ...npm('unseen-pad'), names: ['com.good/*'] }, async () => {
        expect(await placesOf(good)).toEqual(NOWHERE);
        const upgraded = service.replica();
        await upgraded.start();
        try {
          await disappear(evil);
          await appear(good);
          expect(await placesOf(evil)).toEqual(NOWHERE);
          expect(await placesOf(good)).toEqual(EVERYWHERE);
        } finally {
          await upgraded.stop();
        }
      });
    });
    expect(await placesOf(evil)).toEqual(EVERYWHERE);
  });
});

it('a block covers plugins whose files start the package or cannot be read, and no others', async () => {
  // src/admission/block-rule.spec.ts tests every way.
  const ways = (['read', 'unreadable', 'missed'] as const).map((reading) => ({
    name: aPlugin('com.evasion'),
    files: EVASIONS.find((one) => one.reading === reading)?.files ?? {},
  }));
  await block('evasions', npm('left-pad'), async () => {
    for (const { name, files } of ways) await publishWith(name, files);
    const held = (await itemsFor(as(ADMIN), '?reason=block&limit=100')).map(({ name }) => name);
    // docs/security.md: what a plugin can still do.
    expect(ways.map(({ name }) => held.includes(name))).toEqual([true, true, false]);
  });
});

describe('a rule with contains', () => {
  it('holds versions that it could match until their content is stored, then those that it matches', async () => {
    const [calm, wild, trusted] = [aPlugin('com.curated'), aPlugin('com.curated'), aPlugin('com.trusted')];
    const [without, withHooks] = [await committed(plain()), await committed(hooked())];
    const skills = [aSkill(calm, '1.0.0', without), aSkill(wild, '1.0.0', withHooks)];
    git.injectFault = (_, response) => response.writeHead(503).end();
    try {
      await sync('curated', ...skills, aSkill(trusted, '1.0.0', withHooks));
      expect(await reasonsOf(calm)).toBe(`${calm}@1.0.0: content`);
      expect(await reasonsOf(wild)).toBe(`${wild}@1.0.0: content`);
      expect((await placesOf(trusted)).document).toBe(true);
      await within(20_000, async () =>
        expect(await detailsOf(calm)).toMatchObject({ content: { status: 'failed' } }),
      );
    } finally {
      git.injectFault = undefined;
    }
    await service.database.query(`update content_fetch set fetch_at = now() where fetch_at is not null`);
    await appear(calm);
    await within(20_000, async () => expect(await reasonsOf(wild)).toBe(`${wild}@1.0.0: rule`));
    expect(await placesOf(calm)).toEqual(EVERYWHERE);
    expect(await placesOf(wild)).toEqual(NOWHERE);
    expect(await detailsOf(wild)).toMatchObject({ members: { hooks: [{ event: 'PreToolUse' }] } });
    await sync('curated', ...skills, aSkill(aPlugin('com.trusted')));
    expect(await reasonsOf(wild)).toBe(`${wild}@1.0.0: rule`);
    expect(await placesOf(calm)).toEqual(EVERYWHERE);
    const item = await itemOf(wild);
    expect((await decide(as(ADMIN), item ?? { id: '', digest: '' }, 'approve')).status).toBe(200);
    expect(await placesOf(wild)).toEqual(EVERYWHERE);
  });

  it('holds a changed document while the old one stays, and shows added and removed members', async () => {
    const name = aPlugin('com.curated');
    await sync('curated', aSkill(name, '1.0.0', await committed(starting('a-pad'))));
    await appear(name);
    await sync('curated', aSkill(name, '1.0.0', await committed(hooked())));
    await within(20_000, async () => expect(await reasonsOf(name)).toBe(`${name}@1.0.0: rule`));
    expect(await placesOf(name)).toEqual(EVERYWHERE);
    const { replaces } = (await detailsOf(name)) as { replaces: { diff: { op: string; path: string }[] } };
    const changes = replaces.diff.map(({ op, path }) => `${op} ${path}`);
    expect(changes).toContain('add /members/hooks');
    expect(changes).toContain('remove /members/servers');
    const item = await itemOf(name);
    expect((await decide(as(ADMIN), item ?? { id: '', digest: '' }, 'approve')).status).toBe(200);
    const { json } = await as(READER).get(`${contentAt(name)}/files`);
    expect(JSON.stringify(json)).toContain('hooks/hooks.json');
  });

  it('that rejects also withdraws a matching version that is already served', async () => {
    const [banned, served] = [aPlugin('com.curated').replace('/', '/banned-'), aPlugin('com.trusted')];
    const withHooks = await committed(hooked());
    await sync('curated', aSkill(banned, '1.0.0', withHooks), aSkill(served, '1.0.0', withHooks));
    await within(20_000, async () => expect(await reasonsOf(banned)).toBe(`${banned}@1.0.0: rule`));
    await appear(served);
    expect(await placesOf(served)).toEqual(EVERYWHERE);
    const item = await itemOf(banned);
    expect((await decide(as(ADMIN), item ?? { id: '', digest: '' }, 'approve')).status).toBe(200);
    await sync(
      'curated',
      aSkill(banned, '1.0.0', withHooks),
      aSkill(served, '1.0.0', withHooks),
      aSkill(aPlugin('com.more')),
    );
    expect(await reasonsOf(banned)).toBe(`${banned}@1.0.0: rule`);
    expect([await placesOf(banned), await placesOf(served)]).toEqual([NOWHERE, EVERYWHERE]);
    expect(await detailsOf(banned)).toMatchObject({ content: { status: 'stored' } });
  });

  it('releases a version only once its webhooks have also responded', async () => {
    const early = aPlugin('com.curated');
    const content = await committed(plain());
    const secretFile = service.write('secret', aWebhookSecret());
    const configure = (...webhooks: Document[]) =>
      service.reload((edited) => edited.configuration({ admission: { webhooks } }));
    await configure({ name: 'scan', url: scanner.url, secretFile, on: ['sync'] });
    try {
      let answer: () => void = () => undefined;
      const answered = new Promise<void>((resolve) => (answer = resolve));
      scanner.answer = async () => {
        await answered;
        return { status: 200, body: '{"outcome":"admit"}' };
      };
      await sync('curated', aSkill(early, '1.0.0', content));
      expect(await reasonsOf(early)).toBe(`${early}@1.0.0: content+webhook`);
      await within(20_000, async () =>
        expect(await detailsOf(early)).toMatchObject({ content: { status: 'stored' } }),
      );
      expect(await placesOf(early)).toEqual(NOWHERE);
      answer();
      await appear(early);
      expect(await placesOf(early)).toEqual(EVERYWHERE);
    } finally {
      await configure();
    }
  });
});

describe('a review rule with contains', () => {
  it('holds a publication until its publisher adds content, and releases what needs no review', async () => {
    const name = aPlugin('com.reviewed');
    const body = { plugin: aSkill(name), claims: ACME };
    expect((await as(WRITER).post('/v1/entries?dry_run=true', body)).json).toMatchObject({
      admission: { reasons: [{ policy: 'content' }] },
    });
    expect(await itemOf(name)).toBeUndefined();
    const reply = await publish(name);
    expect([reply.status, reply.json]).toMatchObject([
      202,
      { admission: { reasons: [{ policy: 'content' }] } },
    ]);
    for (const other of [COLLEAGUE, REVIEWER])
      expectRefused(await upload(name, plain(), other), 404, 'entry_not_found');
    expect((await upload(name, plain())).status).toBe(204);
    await appear(name);
    expect(await placesOf(name)).toEqual(EVERYWHERE);
    expectRefused(await upload(name, hooked()), 409, 'content_exists');
  });

  it('leaves matching content to reviewers, and shows them its members', async () => {
    const name = aPlugin('com.reviewed');
    expect((await publish(name)).status).toBe(202);
    expect((await upload(name, hooked(starting('reviewed-pad')))).status).toBe(204);
    expectRefused(await upload(name, plain()), 409, 'content_exists');
    await within(20_000, async () => expect((await itemOf(name))?.dueAt).toBeUndefined());
    expect(await reasonsOf(name)).toContain('review');
    expect(await placesOf(name)).toEqual(NOWHERE);
    const item = (await itemOf(name, REVIEWER)) as Item;
    expect(await detailsOf(name, REVIEWER)).toMatchObject({
      members: { hooks: [{ event: 'PreToolUse' }], servers: [{ name: 'db' }] },
    });
    expectRefused(await decide(as(WRITER), item, 'approve'), 403, 'own_publication');
    await block('reviewed', npm('reviewed-pad'), async () => {
      expect((await itemOf(name))?.reasons.map(({ policy }) => policy)).toContain('block');
      expect((await decide(as(REVIEWER), item, 'approve')).status).toBe(200);
      expect(await placesOf(name)).toEqual(NOWHERE);
    });
    expect(await placesOf(name)).toEqual(EVERYWHERE);
  });

  it('does not reveal new claims of the entry to a publisher who uploads content', async () => {
    const name = aPlugin('com.reviewed');
    expect((await publish(name)).status).toBe(202);
    expect((await upload(name, plain())).status).toBe(204);
    await appear(name);
    expect((await publish(name, '2.0.0')).status).toBe(202);
    const claims = { ...ACME, team: 'secret' };
    const change = await as(ADMIN).put(entryAt('plugin', name, '/claims'), { claims });
    expect(change.status).toBe(202);
    const reviewer = { ...REVIEWER, team: ['review', 'secret'] };
    expect((await decide(as(reviewer), change.json as Item, 'approve')).status).toBe(200);
    expectRefused(await upload(name, plain(), WRITER, '2.0.0'), 404, 'entry_not_found');
    expect((await upload(name, plain(), { ...WRITER, team: 'secret' }, '2.0.0')).status).toBe(204);
  });

  it('refuses content of a held version once its publisher does not cover its claims', async () => {
    const name = aPlugin('com.reviewed');
    expect((await publish(name)).status).toBe(202);
    const holder = new pg.Client(service.database.connection);
    await holder.connect();
    await holder.query('begin');
    await holder.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`plugin:${name}`]);
    const claims = { org: 'contoso' };
    await holder.query('update admission_item set claims = $1 where name = $2', [claims, name]);
    const uploading = upload(name, plain());
    try {
      await expect.poll(() => waitingStatements(service.database)).toBeGreaterThan(0);
      await holder.query('commit');
    } finally {
      await holder.end();
    }
    expectRefused(await uploading, 404, 'entry_not_found');
    await service.database.query('update admission_item set claims = $1 where name = $2', [ACME, name]);
    expect((await upload(name, plain())).status).toBe(204);
  });

  it('reviews servers, which have no content, by rules without contains', async () => {
    const body = (name: string) => ({
      server: { ...aSkill(name), namespace: undefined, name },
      claims: ACME,
    });
    expect((await as(WRITER).post('/v1/entries', body('com.reviewed/free'))).status).toBe(201);
    expect((await as(WRITER).post('/v1/entries', body('com.reviewed/always-x'))).status).toBe(202);
  });
});
