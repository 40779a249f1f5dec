import { describe, expect, it } from 'vitest';
import { placeOfMarketplace, pluginSourceOf } from './plugin-sources.js';

const SHA = 'a'.repeat(40);
const repository = { address: 'https://git.acme.com/team/tools.git', commit: 'c'.repeat(40) };
const place = placeOfMarketplace('.claude-plugin/marketplace.json', {}, repository);
const withRoot = placeOfMarketplace(
  'tools/.claude-plugin/marketplace.json',
  { metadata: { pluginRoot: './plugins' } },
  repository,
);
const remote = (url: string, more: object = {}) => ({
  ...{ kind: 'remote', url, path: '', ref: undefined, sha: undefined },
  ...more,
});

describe('paths of a marketplace begin', () => {
  it.each([
    ['.claude-plugin/marketplace.json', ''],
    ['.github/plugin/marketplace.json', ''],
    ['.agents/plugins/marketplace.json', ''],
    ['.cursor-plugin/marketplace.json', ''],
    ['a/b/.claude-plugin/marketplace.json', 'a/b'],
    ['a/.github/plugin/marketplace.json', 'a'],
    ['a/b/marketplace.json', 'a'],
    ['a/marketplace.json', ''],
    ['marketplace.json', ''],
  ])('of %s at "%s"', (path, root) => expect(placeOfMarketplace(path, {}, repository).root).toBe(root));
});

describe('a plugin in the repository', () => {
  it.each([
    ['./plugins/a', 'plugins/a'],
    ['plugins/a', 'plugins/a'],
    ['./', ''],
    ['.', ''],
    ['a', 'a'],
    ['./a/../b/', 'b'],
    [{ source: 'local', path: './plugins/a' }, 'plugins/a'],
    [{ source: 'url', url: 'https://git.acme.com/team/tools' }, ''],
    [{ source: 'url', url: 'https://git.acme.com/team/tools', sha: repository.commit }, ''],
    [
      { source: 'git-subdir', url: 'git@git.acme.com:team/tools.git', path: 'plugins/a', ref: 'main' },
      'plugins/a',
    ],
  ])('%j', (source, path) => expect(pluginSourceOf(source, place)).toEqual({ kind: 'local', path }));

  it.each([
    ['a', 'tools/plugins/a'],
    ['./a', 'tools/a'],
    ['a/b', 'tools/a/b'],
    ['.', 'tools'],
    [{ source: 'local', path: 'a' }, 'tools/plugins/a'],
    [{ source: 'git-subdir', url: 'https://git.acme.com/team/tools', path: 'a' }, 'a'],
  ])('below a folder, with a pluginRoot: %j', (source, path) =>
    expect(pluginSourceOf(source, withRoot)).toEqual({ kind: 'local', path }),
  );
});

describe('a plugin in another repository', () => {
  it.each([
    [{ source: 'github', repo: 'acme/x' }, remote('https://github.com/acme/x')],
    [
      { source: 'github', repo: 'acme/x', ref: 'v2', sha: SHA.toUpperCase() },
      remote('https://github.com/acme/x', { ref: 'v2', sha: SHA }),
    ],
    [
      { source: 'url', url: 'https://a.example/x.git', path: './p/' },
      remote('https://a.example/x.git', { path: 'p' }),
    ],
    [{ source: 'url', url: 'git@a.example:team/x.git' }, remote('https://a.example/team/x')],
    [{ source: 'git-subdir', url: 'acme/x', path: 'p' }, remote('https://github.com/acme/x', { path: 'p' })],
    [
      { source: 'url', url: 'https://git.acme.com/team/tools', sha: SHA },
      remote('https://git.acme.com/team/tools', { sha: SHA }),
    ],
  ])('%j', (source, expected) => expect(pluginSourceOf(source, place)).toEqual(expected));
});

describe('a source that is not read', () => {
  it.each([
    [
      { source: 'npm', package: '@acme/x' },
      'source: "npm" is not supported; only paths and Git repositories are',
    ],
    [{ source: 'archive', url: 'https://a.example/x.zip' }, /"archive" is not supported/],
    [{ source: 'command', command: 'rm -rf /' }, /"command" is not supported/],
    [{ source: '__proto__' }, /"__proto__" is not supported/],
    [{}, 'source: must state its kind, such as {"source": "url"}'],
    [null, 'source: must be a path or an object'],
    ['', 'source: must have a path'],
    [{ source: 'local' }, 'source: must have a path'],
    ['../x', 'source: points outside the repository'],
    ['./a/../../x', 'source: points outside the repository'],
    ['/etc', 'source: points outside the repository'],
    ['a\\..\\..', 'source: points outside the repository'],
    [
      { source: 'git-subdir', url: 'https://a.example/x', path: '../..' },
      'source.path: points outside the repository',
    ],
    [{ source: 'github', repo: 'acme' }, /is not a Git repository/],
    [{ source: 'url', url: 'file:///etc' }, /is not a Git repository/],
    [{ source: 'url', url: 'https://user:secret@a.example/x' }, /is not a Git repository/],
    [{ source: 'url', url: 'ext::sh -c id' }, /is not a Git repository/],
    [{ source: 'url', url: 'https://a.example/x', sha: 'abc' }, /^source.sha: /],
    [{ source: 'url', url: 'https://a.example/x', ref: '--upload-pack=x' }, /^source.ref: /],
  ])('%j', (source, reason) =>
    expect(pluginSourceOf(source, place)).toEqual({
      kind: 'none',
      reason: typeof reason === 'string' ? reason : expect.stringMatching(reason),
    }),
  );

  it('is a path, if the file is not in a repository', () => {
    const file = placeOfMarketplace('marketplace.json', {}, null);
    expect(pluginSourceOf('./a', file)).toMatchObject({
      kind: 'none',
      reason: expect.stringMatching(/add that repository/) as string,
    });
    expect(pluginSourceOf({ source: 'github', repo: 'acme/x' }, file)).toMatchObject({ kind: 'remote' });
  });
});
