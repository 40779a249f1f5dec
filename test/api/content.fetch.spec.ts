import { createServer } from 'node:http';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ContentFiles } from '../../dist/content/content.responses.js';
import { aSkillFile, aTar, aTarGz } from '../support/archives.js';
import { aSkill, type Document } from '../support/documents.js';
import { aTemporaryDirectory } from '../support/git-service.js';
import { aGitServer } from '../support/git-server.js';
import type { Tree } from '../support/git-repository.js';
import { listensMeanwhile, portOf } from '../support/loopback.js';
import { expectRefused } from '../support/matchers.js';
import { OciServer } from '../support/oci-server.js';
import { aName, entryAt } from '../support/publishing.js';
import { aWebhookSecret, Receiver } from '../support/receiver.js';
import { keepSecret } from '../support/secrets.js';
import { aService, type ServiceUnderTest } from '../support/service.js';
import { deleteUnusedContent } from '../support/stored-content.js';
import { within } from '../support/within.js';

aTemporaryDirectory();

const HOUR = 60 * 60_000;

const git = aGitServer().runs();
const repository = git.repository('acme');
/** Only requests to these paths are counted, because other content is fetched again at times. */
const [curated, shared] = [git.repository('curated'), git.repository('shared')];
const oci = new OciServer().runs();
const scanner = new Receiver().runs();

const service = aService()
  .source('published', { kind: 'managed' })
  .source('synced', { skills: [] })
  .source('curated', { skills: [], admission: { changed: 'hold' } })
  .registry('main', {
    sources: ['published', 'synced', 'curated'],
    marketplace: { name: 'acme', owner: 'Acme' },
  })
  .configuration({
    content: { fetch: { hosts: ['127.0.0.1'] }, maxBytesPerVersion: '300KiB', maxBytes: '1MiB' },
  })
  .runs();

interface Content {
  readonly status: string;
  readonly error?: string;
  readonly digest?: string;
  readonly bytes?: number;
}

/** The files of a valid skill, below a folder. */
function skillFiles(name: string, folder = '', more: Tree = {}): Tree {
  const short = name.split('/')[1] ?? '';
  return {
    [`${folder}SKILL.md`]: aSkillFile(short, `The skill ${name}`),
    ...Object.fromEntries(Object.entries(more).map(([path, content]) => [`${folder}${path}`, content])),
  };
}

const skillTar = (name: string, more: readonly { name: string; data: string }[] = []) => {
  const data = aSkillFile(name.split('/')[1] ?? '', `The skill ${name}`);
  return [{ name: 'SKILL.md', data }, ...more];
};

async function publish(name: string, ...packages: Document[]): Promise<void> {
  const reply = await service.post('/v1/entries', { skill: aSkill(name, '1.0.0', { packages }) });
  expect(reply.status, reply.text).toBe(201);
}

async function contentOf(name: string, version = '1.0.0', at: ServiceUnderTest = service): Promise<Content> {
  const reply = await at.get(entryAt('skill', name, `/versions/${version}`));
  return (reply.json as { content: Content }).content;
}

/** Waits until the content was fetched, or fetching it failed. */
async function fetched(name: string): Promise<Content> {
  await within(20_000, async () => expect((await contentOf(name)).status).not.toBe('pending'));
  return contentOf(name);
}

/** Publishes a version for each row of a table before the first is tested, so that they are fetched side by side. */
function publishesAll<Row extends readonly unknown[]>(
  rows: readonly Row[],
  packageOf: (name: string, row: Row) => Promise<Document> | Document,
): Map<unknown, string> {
  const names = new Map(rows.map(([what]) => [what, aName()]));
  beforeAll(async () => {
    for (const row of rows) {
      const name = names.get(row[0]) ?? '';
      await publish(name, await packageOf(name, row));
    }
    // Later tests change the servers' responses.
    for (const name of names.values()) await fetched(name);
  });
  return names;
}

/** Counts only these entries, since each attempt starts git. */
const retryNow = (...names: string[]) =>
  service.database.query(
    `update content_fetch f set fetch_at = now() from entry_version v join entry e on e.id = v.entry_id
     where v.id = f.version_id and e.name = any($1) and f.fetch_at is not null`,
    [names],
  );

async function filesOf(name: string, version = '1.0.0'): Promise<string[]> {
  const reply = await service.get(`/registry/main/x/content/skill/${name}/${version}/files`);
  if (reply.status !== 200) return [];
  return (reply.json as ContentFiles).files.map(({ path }) => path);
}

async function syncedContent(source: string, name: string): Promise<Content | undefined> {
  const { json } = await service.get(`/v1/sources/${source}/entries`);
  const { entries } = json as { entries: { name: string; versions: { content?: Content }[] }[] };
  return entries.find((entry) => entry.name === name)?.versions[0]?.content;
}

const gitPackage = (more: Document = {}) => ({ registryType: 'git', url: git.url('acme'), ...more });
const ociPackage = (more: Document = {}) => ({ registryType: 'oci', ...more });

describe('content of a git package', () => {
  it('is fetched by commit after the publication, from a folder', async () => {
    const name = aName();
    const attributes = { '.gitattributes': '*.txt export-ignore\n*.md ident export-subst\n' };
    const more = {
      'a.txt': '$Format:%H$ $Id$\r\n',
      'scripts/run.sh': 'run',
      'docs/AGENTS.md': { mode: '120000', target: '../SKILL.md' },
    } as const;
    const commit = await repository.commit({
      ...attributes,
      'other.md': 'other',
      ...skillFiles(name, 'skills/one/', more),
    });
    await publish(name, gitPackage({ commit, subfolder: 'skills/one' }));
    const { status, digest, bytes } = await fetched(name);
    expect(status).toBe('stored');
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(bytes).toBeGreaterThan(0);
    expect(await filesOf(name)).toEqual(['SKILL.md', 'a.txt', 'docs/AGENTS.md', 'scripts/run.sh']);
    const { text } = await service.get(`/registry/main/x/content/skill/${name}/1.0.0.zip`);
    expect(text).toContain('$Format:%H$ $Id$\r\n');
    const { json } = await service.get(`/v1/audit?target=${encodeURIComponent(name)}`);
    const { events } = json as { events: { action: string; actor: object; change: object }[] };
    expect(events.find(({ action }) => action === 'entry.content')).toMatchObject({
      actor: { subject: 'content' },
      change: { after: { sha256: digest, files: 4, from: { commit, subfolder: 'skills/one' } } },
    });
  });

  it('is never fetched again, although its tag moves', async () => {
    const name = aName();
    const commit = await repository.commit(skillFiles(name, '', { 'one.txt': '1' }), { branch: 'moving' });
    repository.git('tag', '-f', '-a', '-m', 'v1', 'v1', commit);
    await publish(name, gitPackage({ ref: 'v1' }));
    const before = await fetched(name);
    expect(before.status).toBe('stored');
    const other = await repository.commit(skillFiles(name, '', { 'two.txt': '2' }), { branch: 'moving' });
    repository.git('tag', '-f', '-a', '-m', 'v1', 'v1', other);
    await service.restart();
    expect(await contentOf(name)).toEqual(before);
    expect(await filesOf(name)).toEqual(['SKILL.md', 'one.txt']);
  });

  it('keeps the commit of its first attempt', async () => {
    const name = aName();
    const first = await repository.commit({ 'README.md': 'no skill' }, { branch: 'kept' });
    await publish(name, gitPackage({ ref: 'kept' }));
    expect(await fetched(name)).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/SKILL\.md: is missing/),
    });
    await repository.commit(skillFiles(name), { branch: 'kept' });
    await retryNow(name);
    await expect
      .poll(() => service.database.query(`select attempts from content_fetch where pin = $1`, [first]))
      .toEqual([{ attempts: 2 }]);
    expect(await filesOf(name)).toEqual([]);
  });

  const hostile: [what: string, files: (name: string) => Tree, error: RegExp][] = [
    ['a link to the system', () => ({ link: { mode: '120000', target: '/etc/passwd' } }), /absolute path/],
    ['a link that leaves', () => ({ link: { mode: '120000', target: '../x' } }), /leads to no file/],
    ['case-colliding names', () => ({ 'a.txt': '1', 'A.txt': '2' }), /same file/],
    ['too many bytes', () => ({ large: 'x'.repeat(400 * 1024) }), /maxBytesPerVersion/],
    ['another description', () => ({ 'SKILL.md': aSkillFile('x', 'y') }), /name: must equal/],
  ];
  const hostileNames = publishesAll(hostile, async (name, [, more]) =>
    gitPackage({
      commit: await repository.commit({ ...skillFiles(name), ...more(name) }, { branch: 'hostile' }),
    }),
  );

  it.each(hostile)('with %s fails with the reason, and leaves nothing behind', async (what, _more, error) => {
    const name = hostileNames.get(what) ?? '';
    expect(await fetched(name)).toMatchObject({ status: 'failed', error: expect.stringMatching(error) });
    expectRefused(
      await service.get(`/registry/main/x/content/skill/${name}/1.0.0.zip`),
      404,
      'version_not_found',
    );
    // Content of earlier tests may still be fetched again.
    const leftovers = async () =>
      (await readdir(tmpdir())).filter((file) => /^registry-(content|git)-/.test(file));
    await expect.poll(leftovers).toEqual([]);
  });

  // The branch whose folder is unknown.
  beforeAll(() => repository.commit({ 'README.md': 'no folder' }));
  const wrong: [what: string, item: () => Document, error: RegExp][] = [
    ['with a short commit', () => gitPackage({ commit: 'abc' }), /40 or 64/],
    ['with an option as its ref', () => gitPackage({ ref: '--upload-pack=x' }), /not the name/],
    ['with a parent as its folder', () => gitPackage({ subfolder: 'a/../../b' }), /not a path inside/],
    ['with an unknown ref', () => gitPackage({ ref: 'nowhere' }), /no tag or branch nowhere/],
    ['with an unknown folder', () => gitPackage({ ref: 'main', subfolder: 'nowhere' }), /no folder nowhere/],
    [
      'with an unknown commit',
      () => gitPackage({ commit: 'ab'.repeat(20) }),
      /the server said: .*not our ref/,
    ],
    [
      'at a closed port',
      () => gitPackage({ url: 'http://127.0.0.1:1/a' }),
      /host is unknown, at a private address/,
    ],
  ];
  const wrongNames = publishesAll(wrong, (_name, [, item]) => item());

  it.each(wrong)('%s fails with the reason', async (what, _item, error) => {
    expect(await fetched(wrongNames.get(what) ?? '')).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(error),
    });
  });

  it('follows no redirect, and is fetched once the repository is back', async () => {
    const name = aName();
    const commit = await repository.commit(skillFiles(name), { branch: 'redirected' });
    git.injectFault = (_request, response) =>
      void response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end();
    try {
      await publish(name, gitPackage({ commit }));
      expect((await fetched(name)).status).toBe('failed');
    } finally {
      git.injectFault = undefined;
    }
    await retryNow(name);
    await expect.poll(async () => (await contentOf(name)).status).toBe('stored');
  });
});

describe('content of an oci package', () => {
  const push = async (tag: string, name: string, ...more: { name: string; data: string }[]) =>
    oci.push(tag, {
      bytes: await aTarGz(skillTar(name, more)),
      mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip',
    });
  const identifier = (rest: string) => `${oci.host}/acme/skills${rest}`;

  it('is fetched by digest, from several layers', async () => {
    const name = aName();
    const more = await aTar([{ name: 'run.sh', data: 'run', mode: 0o755 }]);
    const digest = oci.push('layers', { bytes: await aTar(skillTar(name)) }, { bytes: more });
    await publish(name, ociPackage({ identifier: identifier(':layers'), digest }));
    expect(await fetched(name)).toMatchObject({ status: 'stored' });
    expect(await filesOf(name)).toEqual(['SKILL.md', 'run.sh']);
  });

  it('is fetched by a tag, which may move, and through an index', async () => {
    const name = aName();
    const digest = await push('one', name, { name: 'one.txt', data: '1' });
    oci.tag('moving', { schemaVersion: 2, manifests: [{ digest }] });
    await publish(name, ociPackage({ identifier: identifier(':moving') }));
    expect(await fetched(name)).toMatchObject({ status: 'stored' });
    await push('moving', name, { name: 'two.txt', data: '2' });
    await service.restart();
    expect(await filesOf(name)).toEqual(['SKILL.md', 'one.txt']);
  });

  it('is fetched with a token for anonymous pulls, only from a listed host', async () => {
    const [one, other] = [aName(), aName()];
    const digest = await push('token', one);
    try {
      oci.realm = () => `${oci.url}/token`;
      await publish(one, ociPackage({ identifier: identifier(`@${digest}`) }));
      expect(await fetched(one)).toMatchObject({ status: 'stored' });
      oci.realm = () => 'http://localhost:1/token';
      await publish(other, ociPackage({ identifier: identifier(`@${digest}`) }));
      expect(await fetched(other)).toMatchObject({
        status: 'failed',
        error: 'content.fetch.hosts does not include localhost:1',
      });
    } finally {
      oci.realm = undefined;
    }
  });

  const elsewhere = createServer((_request, response) => void response.end());
  listensMeanwhile(elsewhere);

  it('follows redirects of layers only to listed hosts', async () => {
    const [one, other] = [aName(), aName()];
    try {
      oci.blobsAt = `http://localhost:${portOf(elsewhere)}`;
      await publish(one, ociPackage({ identifier: identifier(`@${await push('cdn', one)}`) }));
      expect((await fetched(one)).error).toMatch(/redirects to localhost:\d+, which content\.fetch\.hosts/);
      oci.blobsAt = `http://127.0.0.1:${portOf(elsewhere)}`;
      await publish(other, ociPackage({ identifier: identifier(`@${await push('cdn2', other)}`) }));
      expect((await fetched(other)).error).toMatch(/does not match (the requested|its) digest/);
    } finally {
      oci.blobsAt = undefined;
    }
  });

  const refused: [what: string, pushed: (name: string) => Promise<string> | string, error: RegExp][] = [
    [
      'with a forged layer',
      async (name) =>
        oci.push('x', { bytes: await aTar(skillTar(name)), digest: `sha256:${'0'.repeat(64)}` }),
      /does not match (the requested|its) digest/,
    ],
    [
      'with a zstd layer',
      async (name) =>
        oci.push('x', {
          bytes: await aTar(skillTar(name)),
          mediaType: 'application/vnd.oci.image.layer.v1.tar+zstd',
        }),
      /tar or tar\+gzip/,
    ],
    ['with no layers', () => oci.push('x'), /1 to 16 layers/],
    [
      'with an index whose digest is a path',
      () => oci.tag('x', { schemaVersion: 2, manifests: [{ digest: '../../../../admin/delete?x=' }] }),
      /index has a manifest without a sha256 digest/,
    ],
    [
      'with a layer of size -1',
      async (name) => oci.push('x', { bytes: await aTar(skillTar(name)), size: -1 }),
      /without a sha256 digest and a size/,
    ],
    [
      'with a link to the system',
      async (name) =>
        oci.push('x', {
          bytes: await aTar([
            ...skillTar(name),
            { name: 'l', type: 'symlink', linkname: '/etc/passwd' } as never,
          ]),
        }),
      /absolute path/,
    ],
    [
      'with a parent path',
      async (name) => oci.push('x', { bytes: await aTar([...skillTar(name), { name: '../x', data: '' }]) }),
      /segment/,
    ],
    [
      'with a bomb',
      async (name) =>
        oci.push('x', {
          bytes: await aTarGz([...skillTar(name), { name: 'x', data: 'x'.repeat(1_000_000) }]),
          mediaType: 'application/x-tar+gzip',
        }),
      /maxBytesPerVersion/,
    ],
    ['that is absent', () => `sha256:${'1'.repeat(64)}`, /does not exist, or is not public/],
  ];
  const refusedNames = publishesAll(refused, async (name, [, pushed]) =>
    ociPackage({ identifier: identifier(''), digest: await pushed(name) }),
  );

  it.each(refused)('%s fails with the reason', async (what, _pushed, error) => {
    const content = await fetched(refusedNames.get(what) ?? '');
    expect(content).toMatchObject({ status: 'failed', error: expect.stringMatching(error) });
    expect(content.digest).toBeUndefined();
    expect(oci.requests.filter((line) => !/ \/(v2\/acme\/skills\/|token$)/.test(line))).toEqual([]);
  });

  it('is fetched with the account for its registry, used as a password or to get a token', async () => {
    const password = keepSecret('the password of the account for artifacts');
    const account = { username: 'reader', passwordFile: service.write('password', password) };
    const hosts = [{ host: '127.0.0.1', auth: account }];
    try {
      await service.restart((edited) =>
        edited.configuration({
          content: { fetch: { hosts }, maxBytesPerVersion: '300KiB', maxBytes: '1MiB' },
        }),
      );
      oci.account = { username: 'reader', password };
      for (const realm of [undefined, () => `${oci.url}/token`]) {
        oci.realm = realm;
        const name = aName();
        await publish(name, ociPackage({ identifier: identifier(`@${await push('private', name)}`) }));
        expect(await fetched(name)).toMatchObject({ status: 'stored' });
      }
    } finally {
      oci.account = undefined;
      oci.realm = undefined;
    }
  });
});

describe('content of a synced version', () => {
  const skill = (name: string, more: Document) => aSkill(name, '1.0.0', { packages: [gitPackage(more)] });

  it('is fetched after the sync, and again once the document specifies another commit', async () => {
    const name = aName();
    const one = await repository.commit(skillFiles(name, '', { 'one.txt': '1' }), { branch: 'synced' });
    const two = await repository.commit(skillFiles(name, '', { 'two.txt': '2' }), { branch: 'synced' });
    await service.rewrite('synced', { skills: [skill(name, { commit: one })] });
    expect(await service.synced('synced')).toMatchObject({ status: 'complete' });
    await expect.poll(() => syncedContent('synced', name)).toMatchObject({ status: 'stored' });
    expect(await filesOf(name)).toEqual(['SKILL.md', 'one.txt']);
    // Another change does not affect it.
    await service.rewrite('synced', { skills: [{ ...skill(name, { commit: one }), title: 'A title' }] });
    await service.synced('synced');
    expect(await syncedContent('synced', name)).toMatchObject({ status: 'stored' });
    await service.rewrite('synced', { skills: [skill(name, { commit: two })] });
    await service.synced('synced');
    await expect.poll(() => filesOf(name)).toEqual(['SKILL.md', 'two.txt']);
    await service.rewrite('synced', { skills: [aSkill(name)] });
    await service.synced('synced');
    expect(await syncedContent('synced', name)).toEqual({ status: 'none' });
    expect(await filesOf(name)).toEqual([]);
  });

  it('stays while admission holds a document with another commit, and follows it once approved', async () => {
    const name = aName();
    const url = git.url('curated');
    const one = await curated.commit(skillFiles(name, '', { 'one.txt': '1' }));
    const two = await curated.commit(skillFiles(name, '', { 'two.txt': '2' }));
    await service.rewrite('curated', { skills: [skill(name, { url, commit: one })] });
    await service.synced('curated');
    await expect.poll(() => filesOf(name)).toEqual(['SKILL.md', 'one.txt']);
    await service.rewrite('curated', { skills: [skill(name, { url, commit: two })] });
    git.takeRequests();
    await service.synced('curated');
    const { json } = await service.get(`/v1/admission?name=${encodeURIComponent(name)}`);
    const [item] = (json as { items: { id: string; digest: string }[] }).items;
    expect(await filesOf(name)).toEqual(['SKILL.md', 'one.txt']);
    expect(git.takeRequests().filter((line) => line.includes('/curated.git'))).toEqual([]);
    await service.post(`/v1/admission/${item?.id}/approve`, { digest: item?.digest });
    await expect.poll(() => filesOf(name)).toEqual(['SKILL.md', 'two.txt']);
  });

  it('of a source with admission needs a commit', async () => {
    const name = aName();
    await repository.commit(skillFiles(name), { branch: 'floating' });
    await service.rewrite('curated', { skills: [skill(name, { ref: 'floating' })] });
    await service.synced('curated');
    await expect
      .poll(() => syncedContent('curated', name))
      .toMatchObject({ status: 'failed', error: expect.stringMatching(/must have a commit or digest/) });
  });

  it('needs a commit while there are admission webhooks, even after a reload', async () => {
    scanner.answer = () => ({ status: 200, body: '{"outcome":"admit"}' });
    const scan = { name: 'scan', url: scanner.url, secretFile: service.write('secret', aWebhookSecret()) };
    await repository.commit(skillFiles('acme/tagged'), { branch: 'scanned' });
    const reload = (webhooks: Document[]) =>
      service.reload((edited) => edited.configuration({ admission: { webhooks } }));
    await reload([scan]);
    const [name, later] = [aName(), aName()];
    await publish(name, gitPackage({ ref: 'scanned' }));
    expect(await fetched(name)).toMatchObject({
      error: expect.stringMatching(/must have a commit or digest/),
    });
    await reload([]);
    await repository.commit(skillFiles(later), { branch: 'unscanned' });
    await publish(later, gitPackage({ ref: 'unscanned' }));
    expect(await fetched(later)).toMatchObject({ status: 'stored' });
  });

  it('is fetched although the document has an escape that PostgreSQL refuses', async () => {
    const name = aName();
    const commit = await repository.commit(skillFiles(name), { branch: 'odd' });
    const text = JSON.stringify({ ...skill(name, { commit }), odd: 'ODD' }).replace('ODD', '\\u0000');
    const catalogue = `{"version":"1.0.0","meta":{"last_updated":"2026-11-01T00:00:00Z"},"data":{"servers":[],"skills":[${text}]}}`;
    await service.rewrite('synced', { text: catalogue });
    expect(await service.synced('synced')).toMatchObject({ status: 'complete' });
    await expect.poll(() => syncedContent('synced', name)).toMatchObject({ status: 'stored' });
    const { json, status } = await service.get('/registry/main/x/marketplace.json');
    expect(status).toBe(200);
    const { plugins } = json as { plugins: { description: string }[] };
    expect(plugins.map(({ description }) => description)).toContain(`The skill ${name}`);
  });
});

describe('fetching', () => {
  it('fails with a reason while the store is full', async () => {
    const name = aName();
    const commit = await repository.commit(skillFiles(name, '', { large: 'y'.repeat(200_000) }), {
      branch: 'full',
    });
    await service.restart((edited) =>
      edited.configuration({ content: { fetch: { hosts: ['127.0.0.1'] }, maxBytes: '100KiB' } }),
    );
    await publish(name, gitPackage({ commit }));
    expect(await fetched(name)).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/content store is full/),
    });
    await service.restart((edited) => edited.configuration({ content: { fetch: { hosts: ['127.0.0.1'] } } }));
    await retryNow(name);
    await expect.poll(async () => (await contentOf(name)).status).toBe('stored');
  });

  it.each<[what: string, packageOf: (commit: string) => Document, delay: number]>([
    ['is unreachable', (commit) => gitPackage({ url: 'http://127.0.0.1:1/a', commit }), HOUR],
    ['was read and refused', (commit) => gitPackage({ commit }), 24 * HOUR],
  ])('is retried less and less often while content %s', async (_what, packageOf, delay) => {
    const name = aName();
    await publish(
      name,
      packageOf(await repository.commit({ 'README.md': 'no skill' }, { branch: 'refused' })),
    );
    expect((await fetched(name)).status).toBe('failed');
    const row = `content_fetch f join entry_version v on v.id = f.version_id join entry e on e.id = v.entry_id
      where e.name = '${name}'`;
    await service.database.query(
      `update content_fetch set attempts = 15, fetch_at = now() where version_id = (select version_id from ${row})`,
    );
    await expect
      .poll(() =>
        service.database.query(
          `select attempts, round(extract(epoch from fetch_at - now()) / 60)::int as minutes from ${row}`,
        ),
      )
      .toEqual([{ attempts: 16, minutes: delay / 60_000 }]);
  });

  it('leaves nothing in the store once no version has the content', async () => {
    const name = aName();
    const commit = await repository.commit(skillFiles(name, '', { 'only.txt': name }), { branch: 'deleted' });
    await publish(name, gitPackage({ commit }));
    const { digest } = await fetched(name);
    const stored = () =>
      service.database.query(
        `select (select count(*)::int from content_tree where encode(digest, 'hex') = $1) as trees,
           (select count(*)::int from content_blob where digest = sha256($2)) as files`,
        [digest, Buffer.from(name)],
      );
    await deleteUnusedContent(service);
    expect(await stored()).toEqual([{ trees: 1, files: 1 }]);
    expect((await service.delete(entryAt('skill', name, '/versions/1.0.0'))).status).toBe(204);
    await deleteUnusedContent(service);
    expect(await stored()).toEqual([{ trees: 0, files: 0 }]);
  });

  it('removes old folders at startup', async () => {
    const make = () =>
      Promise.all(['registry-content-', 'registry-git-'].map((prefix) => mkdtemp(join(tmpdir(), prefix))));
    const [old, young] = [await make(), await make()];
    for (const folder of old) {
      await writeFile(join(folder, 'archive'), 'left by a killed server');
      const then = new Date(Date.now() - HOUR - 1_000);
      await utimes(folder, then, then);
    }
    await service.restart();
    const left = async () => {
      const names = (await readdir(tmpdir())).map((each) => join(tmpdir(), each));
      return [...old, ...young].filter((folder) => names.includes(folder));
    };
    await expect.poll(left).toEqual(young);
    for (const folder of young) await rm(folder, { recursive: true });
  });

  it('is measured by metrics', async () => {
    const figure = async (series: string) => {
      const text = await (await fetch(`${service.internalOrigin}/metrics`)).text();
      return Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${series} `))
          ?.split(' ')[1],
      );
    };
    const [{ stored, failed } = { stored: 0, failed: 0 }] = await service.database.query<{
      stored: number;
      failed: number;
    }>(
      `select (select sum(bytes)::int from content_blob) as stored,
         (select count(*)::int from content_fetch where fetch_at is not null and error is not null) as failed`,
    );
    expect(stored).toBeGreaterThan(0);
    expect(failed).toBeGreaterThan(0);
    // A scrape omits metrics that the database does not return within a second.
    await expect.poll(() => figure('registry_content_stored_bytes')).toBe(stored);
    await expect.poll(() => figure('registry_content_limit_bytes')).toBe(10 * 1024 ** 3);
    await expect.poll(() => figure('registry_content_fetches{status="failed"}')).toBe(failed);
    await expect.poll(() => figure('registry_content_fetches{status="pending"}')).toBe(0);
    await expect.poll(() => figure('registry_content_oldest_pending_seconds')).toBe(0);
  });

  it('is shared by replicas: each version is fetched once', async () => {
    const names = Array.from({ length: 8 }, () => aName());
    const commits: string[] = [];
    for (const name of names) commits.push(await shared.commit(skillFiles(name)));
    const other = service.replica();
    await other.start();
    try {
      git.takeRequests();
      const url = git.url('shared');
      await Promise.all(
        names.map((name, index) => publish(name, gitPackage({ url, commit: commits[index] }))),
      );
      for (const name of names) expect(await fetched(name)).toMatchObject({ status: 'stored' });
      const fetches = git.takeRequests().filter((line) => line.startsWith('GET /shared.git'));
      expect(fetches).toHaveLength(names.length);
    } finally {
      await other.stop();
    }
  });

  it('ignores all packages without content.fetch.hosts, and those at an unlisted host until it is listed', async () => {
    const [early, name, unlisted] = [aName(), aName(), aName()];
    const commit = await repository.commit(skillFiles(name), { branch: 'unlisted' });
    const configure = (content: Document) => service.restart((edited) => edited.configuration({ content }));
    const listing = (...hosts: string[]) => configure({ fetch: { hosts } });
    await configure({});
    const before = await repository.commit(skillFiles(early), { branch: 'none' });
    await publish(early, gitPackage({ commit: before }));
    expect(await contentOf(early)).toEqual({ status: 'none' });
    await listing('git.example.com');
    git.takeRequests();
    const logged = service.log.length;
    await publish(name, gitPackage({ commit }));
    await publish(unlisted, ociPackage({ identifier: 'oci.example.com/a/b:1' }));
    for (const each of [name, unlisted]) expect(await fetched(each)).toEqual({ status: 'none' });
    await retryNow(name, unlisted);
    expect(service.log.slice(logged).filter((line) => line.includes('could not be fetched'))).toEqual([]);
    expect(git.takeRequests()).toEqual([]);
    await listing('127.0.0.1');
    for (const each of [early, name])
      await expect.poll(async () => (await contentOf(each)).status).toBe('stored');
    expect(await contentOf(unlisted)).toEqual({ status: 'none' });
  });
});
