import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { derivedEntries, filesOf, zipOf } from '../support/derived-entries.js';
import type { Document } from '../support/documents.js';
import type { Tree } from '../support/git-repository.js';
import { aGitServer } from '../support/git-server.js';
import { aTemporaryDirectory } from '../support/git-service.js';
import { keepSecret } from '../support/secrets.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

aTemporaryDirectory();

const LS_REMOTE = ['GET /acme.git/info/refs', 'POST /acme.git/git-upload-pack'];
const password = keepSecret('the password of the account for repositories');

const git = aGitServer().runs();
git.account = { username: 'reader', password };
const [repository, other] = [git.repository('acme'), git.repository('other')];

const skill = (name: string) => `---\nname: ${name}\ndescription: Skill ${name}\n---\n`;
const marketplace = (plugins: readonly Document[]): Tree => ({
  '.claude-plugin/marketplace.json': JSON.stringify({ name: 'acme', owner: { name: 'Acme' }, plugins }),
});
const SHA = 'a'.repeat(40);

/** The plugins in Acme's marketplace; `otherCommit` is known once the repository exists. */
const plugins = (): Document[] => [
  { name: 'code-review', source: './plugins/review', category: 'development', tags: ['git'] },
  {
    name: 'Lax Tools',
    source: './',
    strict: false,
    version: '2.0.0',
    description: 'Lax',
    skills: ['./skills/a'],
  },
  { name: 'merged', source: './plugins/merged', description: 'Merged', commands: './more/x.md' },
  { name: 'unlisted', source: { source: 'github', repo: 'acme/x', sha: SHA }, description: 'Elsewhere' },
  {
    name: 'remote',
    source: { source: 'url', url: git.url('other'), ref: 'main', path: 'p' },
    description: 'Remote',
  },
  { name: 'Code Review', source: './plugins/merged', description: 'x' },
  { name: 'gone', source: './plugins/gone', description: 'x' },
  { name: 'outside', source: '../x', description: 'x' },
  { name: 'npm', source: { source: 'npm', package: 'x' }, description: 'x' },
  { name: 'floating', source: { source: 'github', repo: 'acme/x' }, description: 'x' },
];
const files: Tree = {
  'README.md': 'Acme',
  LICENSE: 'MIT',
  'skills/a/SKILL.md': skill('a'),
  'skills/b/SKILL.md': skill('b'),
  'plugins/review/.claude-plugin/plugin.json': JSON.stringify({
    ...{ name: 'own', version: '1.2.3', description: 'Reviews code', displayName: 'Code Review' },
    ...{ author: { name: 'Ada' }, keywords: ['review'] },
  }),
  'plugins/review/commands/go.md': 'Go',
  'plugins/merged/commands/one.md': 'One',
  'plugins/merged/more/x.md': 'More',
};

const service = aService();
const source = { kind: 'git' as const, settings: {} as Document };
beforeAll(async () => {
  await other.commit({ 'p/commands/far.md': 'Far' });
  await repository.commit({ ...marketplace(plugins()), ...files });
  const passwordFile = join(process.env['TMPDIR'] ?? '', 'password');
  writeFileSync(passwordFile, password);
  const auth = { username: 'reader', passwordFile };
  source.settings = { repository: git.url('acme'), namespace: 'io.github.acme', auth };
  service
    .source('main', source)
    .registry('main', { sources: ['main'], marketplace: { name: 'acme', owner: 'Acme' } })
    .configuration({ content: { fetch: { hosts: ['unused.example', { host: '127.0.0.1', auth }] } } });
});
service.runs();

const digests = async () =>
  Object.entries(await derivedEntries(service, 'plugin')).map(([name, { document, content }]) => [
    ...[name, document['version'], content.digest, JSON.stringify(document['packages'])],
  ]);

describe('a marketplace in a repository', () => {
  it('becomes plugin documents, whose content is stored in the same sync', async () => {
    const report = await service.synced('main');
    expect(report).toMatchObject({ status: 'complete', error: null, format: 'marketplace' });
    const commit = repository.git('rev-parse', 'main');
    const entries = await derivedEntries(service, 'plugin');
    expect(Object.keys(entries).sort()).toEqual(['code-review', 'lax-tools', 'merged', 'remote', 'unlisted']);
    const { 'code-review': review, 'lax-tools': lax, merged } = entries;
    expect(review?.document).toEqual({
      ...{ namespace: 'io.github.acme', name: 'code-review', version: '1.2.3', title: 'Code Review' },
      ...{ description: 'Reviews code', author: { name: 'Ada' }, keywords: ['review'] },
      tags: ['git', 'development'],
      packages: [{ registryType: 'git', url: git.url('acme'), commit, subfolder: 'plugins/review' }],
    });
    expect(merged?.document['version']).toBe(repository.git('rev-parse', 'main:plugins/merged').slice(0, 12));
    for (const entry of [review, lax, merged]) expect(entry?.content.status).toBe('stored');
    expect(lax?.document['packages']).toEqual([{ registryType: 'git', url: git.url('acme'), commit }]);
  });

  it('skips plugins that cannot be read, with the reason', async () => {
    const { skipped } = await service.synced('main');
    expect(skipped.map(({ name, reasons }) => [name, reasons[0]])).toEqual([
      ['code-review', expect.stringMatching(/an earlier one has this name/)],
      ['gone', expect.stringMatching(/there is no folder plugins\/gone/)],
      ['outside', 'source: points outside the repository'],
      ['npm', 'source: "npm" is not supported; only paths and Git repositories are'],
      ['floating', expect.stringMatching(/it has no version: .*github\.com/)],
    ]);
  });

  it('gives a plugin the components that its entry lists', async () => {
    const { 'lax-tools': lax, merged } = await derivedEntries(service, 'plugin');
    if (!lax || !merged) throw new Error('They are missing');
    expect(await filesOf(service, 'plugin', lax)).toEqual([
      ...['.claude-plugin/plugin.json', 'LICENSE', 'README.md', 'skills/a/SKILL.md'],
    ]);
    expect(await zipOf(service, 'plugin', lax)).toContain('"skills":["./skills/a"]');
    expect(await filesOf(service, 'plugin', merged)).toEqual([
      ...['.claude-plugin/plugin.json', 'commands/one.md', 'more/x.md'],
    ]);
    expect(await zipOf(service, 'plugin', merged)).toContain('"./commands/","./more/x.md"');
  });

  it('resolves a branch at a listed host to a commit, and fetches the plugin with the account for the host', async () => {
    const commit = other.git('rev-parse', 'main');
    await within(20_000, async () => {
      const { remote, unlisted } = await derivedEntries(service, 'plugin');
      expect(remote?.content.status).toBe('stored');
      expect(unlisted?.content.status).toBe('none');
    });
    const { remote, unlisted } = await derivedEntries(service, 'plugin');
    expect(remote?.document).toMatchObject({
      version: commit.slice(0, 12),
      packages: [{ registryType: 'git', url: git.url('other'), ref: 'main', commit, subfolder: 'p' }],
    });
    expect(remote && (await filesOf(service, 'plugin', remote))).toEqual(['commands/far.md']);
    expect(unlisted?.document).toMatchObject({
      version: SHA.slice(0, 12),
      packages: [{ registryType: 'git', url: 'https://github.com/acme/x', commit: SHA }],
    });
  });

  it('costs one ls-remote while its commit is unchanged', async () => {
    git.takeRequests();
    expect(await service.synced('main')).toMatchObject({ status: 'complete' });
    expect(git.takeRequests()).toEqual(LS_REMOTE);
  });

  it('changes a plugin only if its folder changes', async () => {
    const before = await digests();
    await repository.commit({ 'docs/x.md': 'x', 'plugins/new/README.md': 'x' }, { keeps: true });
    const report = await service.synced('main');
    expect(report.counts).toMatchObject({ added: 0, changed: 0, removed: 0, unchanged: 5 });
    expect(await digests()).toEqual(before);
    await service.reload((edited) =>
      edited.source('main', { ...source, filter: { tags: { exclude: ['nothing'] } } }),
    );
    expect((await service.synced('main')).counts).toMatchObject({ changed: 0, unchanged: 5 });
    expect(await digests()).toEqual(before);
  });

  it('fetches only the plugin that changed', async () => {
    const before = await digests();
    const large = 'x'.repeat(100_000);
    await repository.commit({ 'plugins/review/large.md': large }, { keeps: true });
    await service.synced('main');
    const sent = git.sentBytes;
    await repository.commit({ 'plugins/merged/more/y.md': 'y' }, { keeps: true });
    await service.synced('main');
    expect(git.sentBytes - sent).toBeLessThan(20_000);
    const changed = (await digests()).filter(
      ([name, , digest]) => !before.some(([other_, , known]) => other_ === name && known === digest),
    );
    expect(changed.map(([name]) => name).sort()).toEqual(['code-review', 'merged']);
  });
});

describe('a filter and admission', () => {
  it('apply to the tags in a plugin’s manifest', async () => {
    await service.reload((edited) =>
      edited.source('main', { ...source, filter: { tags: { exclude: ['development'] } } }),
    );
    await service.synced('main');
    expect(Object.keys(await derivedEntries(service, 'plugin'))).not.toContain('code-review');
    await service.reload((edited) =>
      edited.source('main', { ...source, admission: { changed: 'hold', newNames: 'hold' } }),
    );
    // The first sync with these settings knows the names.
    await service.synced('main');
  });

  it('hold a changed plugin, and show its content once it is approved', async () => {
    const before = await derivedEntries(service, 'plugin');
    await repository.commit({ 'plugins/review/commands/new.md': 'New' }, { keeps: true });
    expect((await service.synced('main')).counts).toMatchObject({ held: 1, changed: 0 });
    const during = await derivedEntries(service, 'plugin');
    expect(during['code-review']).toEqual(before['code-review']);
    const { json } = await service.get('/v1/admission');
    const [item] = (json as { items: { id: string; digest: string; name: string }[] }).items;
    expect(item?.name).toBe('io.github.acme/code-review');
    const decided = await service.post(`/v1/admission/${item?.id}/approve`, { digest: item?.digest });
    expect(decided.status, decided.text).toBe(200);
    const { 'code-review': after } = await derivedEntries(service, 'plugin');
    expect(after?.content.status).toBe('stored');
    expect(after && (await filesOf(service, 'plugin', after))).toContain('commands/new.md');
  });

  it('keep the version that a held one would replace', async () => {
    await service.reload((edited) => edited.source('main', { ...source, admission: { minAge: '7d' } }));
    await service.synced('main');
    const before = await derivedEntries(service, 'plugin');
    await repository.commit({ 'plugins/merged/more/z.md': 'z' }, { keeps: true });
    expect((await service.synced('main')).counts).toMatchObject({ held: 1, removed: 0 });
    const { merged } = await derivedEntries(service, 'plugin');
    expect(merged).toEqual(before['merged']);
    const { json } = await service.get('/v1/admission');
    const [item] = (json as { items: { id: string; digest: string }[] }).items;
    await service.post(`/v1/admission/${item?.id}/approve`, { digest: item?.digest });
    const { merged: after } = await derivedEntries(service, 'plugin');
    expect(after?.document['version']).toBe(repository.git('rev-parse', 'main:plugins/merged').slice(0, 12));
    expect(after && (await filesOf(service, 'plugin', after))).toContain('more/z.md');
  });

  it('keep the version that a rejected one would replace, unless a rule rejects the plugin', async () => {
    await service.synced('main');
    const { merged: before } = await derivedEntries(service, 'plugin');
    const files = before && (await filesOf(service, 'plugin', before));
    await repository.commit({ 'plugins/merged/more/rejected.md': 'x' }, { keeps: true });
    expect((await service.synced('main')).counts).toMatchObject({ held: 1, removed: 0 });
    const { json } = await service.get('/v1/admission');
    const [item] = (json as { items: { id: string; digest: string }[] }).items;
    await service.post(`/v1/admission/${item?.id}/reject`, { digest: item?.digest });
    await repository.commit({ 'docs/other.md': 'x' }, { keeps: true });
    expect((await service.synced('main')).counts).toMatchObject({ held: 0, removed: 0 });
    const { merged } = await derivedEntries(service, 'plugin');
    expect(merged).toEqual(before);
    expect(merged && (await filesOf(service, 'plugin', merged))).toEqual(files);
    const { json: marketplaceFile } = await service.get('/registry/main/x/marketplace.json');
    expect((marketplaceFile as { plugins: unknown[] }).plugins).toContainEqual(
      expect.objectContaining({ name: 'io-github-acme-merged', version: before?.document['version'] }),
    );
    const rules = [{ names: ['*/merged'], action: 'reject' }];
    await service.reload((edited) => edited.source('main', { ...source, admission: { rules } }));
    await service.synced('main');
    expect(Object.keys(await derivedEntries(service, 'plugin'))).not.toContain('merged');
  });
});

it('a held plugin has the content that its marketplace currently provides', async () => {
  const reading = (path: string) =>
    service.reload((edited) =>
      edited.source('main', {
        ...source,
        settings: { ...source.settings, path },
        admission: { minAge: '7d' },
      }),
    );
  const file = (name: string) => {
    const entry = { name: 'two-ways', source: './', strict: false, version: '1.0.0', description: 'x' };
    return JSON.stringify({ name: 'acme', owner: {}, plugins: [{ ...entry, skills: `./skills/${name}` }] });
  };
  const [first, second] = ['.github/plugin/marketplace.json', '.agents/plugins/marketplace.json'];
  await repository.commit({ [first]: file('a'), [second]: file('b') }, { keeps: true });
  for (const path of [first, second]) {
    await reading(path);
    expect((await service.synced('main')).counts).toMatchObject({ held: 1 });
  }
  const { json } = await service.get('/v1/admission');
  const [item] = (json as { items: { id: string; digest: string }[] }).items;
  await service.post(`/v1/admission/${item?.id}/approve`, { digest: item?.digest });
  const { 'two-ways': plugin } = await derivedEntries(service, 'plugin');
  expect(plugin && (await filesOf(service, 'plugin', plugin))).toContain('skills/b/SKILL.md');
});

describe('a block of a package', () => {
  const starting = (name: string) => ({
    'plugins/late/.mcp.json': JSON.stringify({ db: { command: 'npx', args: ['-y', name] } }),
  });
  const late = { name: 'late', source: './plugins/late', version: '1.0.0', description: 'Late' };
  const block = () =>
    service.put('/v1/blocks/evil', {
      packages: [{ registryType: 'npm', identifier: 'evil' }],
      reason: 'It is evil',
    });
  const servedOf = async () => {
    const { late: plugin } = await derivedEntries(service, 'plugin');
    return plugin && [plugin.content.digest, await filesOf(service, 'plugin', plugin)];
  };
  const eventsOf = async (action: string) =>
    (await service.get(`/v1/audit?action=${action}&target=io.github.acme/late`)).json['events'] as unknown[];

  it('holds a new plugin in the sync that reads it, so that it is never served', async () => {
    await service.reload((edited) => edited.source('main', source));
    await service.synced('main');
    expect((await block()).status).toBe(201);
    await repository.commit({ ...marketplace([...plugins(), late]), ...starting('evil') }, { keeps: true });
    expect((await service.synced('main')).counts).toMatchObject({ added: 0, held: 1 });
    expect(await servedOf()).toBeUndefined();
    const { json } = await service.get('/v1/admission');
    expect((json as { items: unknown[] }).items).toMatchObject([
      { name: 'io.github.acme/late', reasons: [{ policy: 'block' }] },
    ]);
    expect(await eventsOf('entry.content')).toEqual([]);
    expect((await service.delete('/v1/blocks/evil')).status).toBe(204);
    expect((await servedOf())?.[1]).toEqual(['.mcp.json']);
  });

  it('keeps serving the old content while new content of the same version is held', async () => {
    await repository.commit(starting('good'), { keeps: true });
    expect((await service.synced('main')).counts).toMatchObject({ changed: 1 });
    const before = await servedOf();
    expect((await block()).status).toBe(201);
    await repository.commit(starting('evil'), { keeps: true });
    expect((await service.synced('main')).counts).toMatchObject({ changed: 0, held: 1 });
    expect(await servedOf()).toEqual(before);
    expect((await service.delete('/v1/blocks/evil')).status).toBe(204);
    expect(await servedOf()).not.toEqual(before);
  });
});

it('updates the content of the only changed plugin of 20 with one fetch', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `p-${index}`);
  const listed = names.map((name) => ({ name, source: `./${name}`, version: '1.0.0', description: name }));
  await repository.commit({
    ...marketplace(listed),
    ...Object.fromEntries(names.map((name) => [`${name}/commands/x.md`, name])),
  });
  const contents = async () => {
    const { json } = await service.get('/v1/sources/main/entries');
    const { entries } = json as { entries: { name: string; versions: { content: Document }[] }[] };
    return new Map(entries.map(({ name, versions }) => [name, versions[0]?.content['digest']]));
  };
  expect((await service.synced('main')).counts).toMatchObject({ entries: 20, held: 0 });
  const before = await contents();
  await repository.commit({ 'p-10/commands/x.md': 'changed' }, { keeps: true });
  git.takeRequests();
  expect((await service.synced('main')).counts).toMatchObject({ changed: 1, unchanged: 19 });
  // One fetch each for the refs, the commit, the marketplace and the plugin: four fetches with two or three requests
  // each.
  expect(git.takeRequests().length).toBeLessThan(13);
  const after = await contents();
  expect(new Set(before.values()).size).toBe(20);
  expect([...after].filter(([name, digest]) => digest !== before.get(name)).map(([name]) => name)).toEqual([
    'io.github.acme/p-10',
  ]);
});

it('looks a failed plugin up again although the marketplace is unchanged', async () => {
  const listed = { name: 'later', source: { source: 'url', url: git.url('later') }, description: 'Later' };
  await repository.commit(marketplace([{ ...listed, name: 'here', source: './' }, listed]));
  await service.synced('main');
  expect(Object.keys(await derivedEntries(service, 'plugin'))).toEqual(['here']);
  await git.repository('later').commit({ 'README.md': 'x' });
  await service.synced('main');
  expect(Object.keys(await derivedEntries(service, 'plugin')).sort()).toEqual(['here', 'later']);
  git.takeRequests();
  await service.synced('main');
  expect(git.takeRequests().filter((request) => request.includes('acme'))).toEqual(LS_REMOTE);
});
