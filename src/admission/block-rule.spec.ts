import { describe, expect, it } from 'vitest';
import { EVASIONS } from '../../test/support/evasions.js';
import { type BlockRule, CompiledBlock, matchingBlocks } from './block-rule.js';
import type { Members } from '../members/members.responses.js';
import { readMembers } from '../members/read-members.js';
import { REWRITTEN } from './rewrite.js';

function matches(
  rule: Omit<BlockRule, 'reason'>,
  document: object,
  version = '1.0.0',
  members: Members | null = null,
): boolean {
  const block = new CompiledBlock('test', { ...rule, reason: 'x' });
  const candidate = {
    type: 'server' as const,
    name: 'io.acme/one',
    version,
    digest: Buffer.alloc(32, 1),
    document: () => JSON.stringify(document),
    members,
  };
  return matchingBlocks([block], candidate).length > 0;
}

const npm = { registryType: 'npm' as const, identifier: 'left-pad', version: '1.3.0' };
const pypi = (identifier: string) => ({ registryType: 'pypi' as const, identifier });
const oci = (identifier: string) => ({ registryType: 'oci' as const, identifier });
const image = (identifier: string) => ({ packages: [{ registryType: 'oci', identifier }] });
const blockedImage = { packages: [{ registryType: 'oci', identifier: 'ghcr.io/acme/one' }] };

describe('a block', () => {
  it.each<[string, Omit<BlockRule, 'reason'>, object, boolean]>([
    ['matches the package', { packages: [npm] }, { packages: [npm] }, true],
    ['not another version of it', { packages: [npm] }, { packages: [{ ...npm, version: '1.3.1' }] }, false],
    ['matches a range', { packages: [{ ...npm, version: '^1.2' }] }, { packages: [npm] }, true],
    ['matches an image without its tag', blockedImage, image('ghcr.io/acme/one:1.0'), true],
    ['matches an image without its digest', blockedImage, image('ghcr.io/acme/one@sha256:ab'), true],
    ['matches an image without both', blockedImage, image('ghcr.io/acme/one:1@sha256:ab'), true],
    ['does not mistake a port for a tag', blockedImage, image('ghcr.io:443/acme/one'), false],
    [
      'looks at packages before a rewrite',
      { packages: [npm] },
      { packages: [], _meta: { [REWRITTEN]: [npm] } },
      true,
    ],
    ['and at those after it', { packages: [npm] }, { packages: [npm], _meta: { [REWRITTEN]: [] } }, true],
    [
      'matches the normal form of a URL',
      { remotes: ['https://evil.example/*'] },
      { remotes: [{ url: 'https://evil.example:443/x' }] },
      true,
    ],
    ['matches the digest in capitals', { digests: ['01'.repeat(32).toUpperCase()] }, {}, true],
    ['not another digest', { digests: ['02'.repeat(32)] }, {}, false],
    ['matches more packages than it compares', { packages: [npm] }, { packages: Array(201).fill({}) }, true],
    ['compares 200 packages', { packages: [npm] }, { packages: Array(200).fill({}) }, false],
    ['matches a longer identifier than it compares', blockedImage, image('x'.repeat(2_001)), true],
    ['compares 2000 characters', blockedImage, image('x'.repeat(2_000)), false],
    [
      'matches a longer URL than it compares',
      { remotes: ['a'] },
      { remotes: [{ url: 'x'.repeat(2_001) }] },
      true,
    ],
  ])('%s', (_, rule, document, expected) => {
    expect(matches(rule, document)).toBe(expected);
  });

  it.each<[string, Omit<BlockRule, 'reason'>, Members, boolean]>([
    ['a package of a server', { packages: [npm] }, { servers: [{ name: 'a', packages: [npm] }] }, true],
    ['of a hook', { packages: [npm] }, { hooks: [{ event: 'Stop', packages: [npm] }] }, true],
    ['of a language server', { packages: [npm] }, { lsp: [{ name: 'a', packages: [npm] }] }, true],
    [
      'not another version',
      { packages: [{ ...npm, version: '>1.3.0' }] },
      { lsp: [{ name: 'a', packages: [npm] }] },
      false,
    ],
    [
      'a spelling of PyPI',
      { packages: [pypi('My_Tool')] },
      { servers: [{ name: 'a', packages: [pypi('my-tool')] }] },
      true,
    ],
    [
      'an image without its tag',
      blockedImage,
      { servers: [{ name: 'a', packages: [oci('ghcr.io/acme/one:1')] }] },
      true,
    ],
    [
      'a URL',
      { remotes: ['https://evil.example/*'] },
      { servers: [{ name: 'a', url: 'https://EVIL.example/x' }] },
      true,
    ],
    [
      'not the name of a skill',
      { packages: [npm] },
      { skills: [{ name: 'left-pad', description: '' }] },
      false,
    ],
    ['what is unreadable, as a package', { packages: [npm] }, { unreadable: ['.mcp.json'] }, true],
    ['and as a remote', { remotes: ['https://evil.example/*'] }, { unreadable: ['.mcp.json'] }, true],
    ['but no name', { names: ['io.other/*'], packages: [npm] }, { unreadable: ['.mcp.json'] }, false],
    [
      'only what has all that it names',
      { packages: [npm], remotes: ['https://evil.example/*'] },
      { servers: [{ name: 'a', packages: [npm] }] },
      false,
    ],
    [
      'more members than it compares',
      { packages: [npm] },
      { servers: Array.from({ length: 1_001 }, () => ({ name: 'a', packages: [pypi('x')] })) },
      true,
    ],
  ])('of members matches %s', (_, rule, members, expected) => {
    expect(matches(rule, {}, '1.0.0', members)).toBe(expected);
  });

  it.each(EVASIONS.map(({ way, reading, files }) => [way, reading !== 'missed', files] as const))(
    'of files with %s matches: %s',
    async (_, expected, files) => {
      const list = Object.entries(files).map(([path, text]) => ({ path, bytes: Buffer.byteLength(text) }));
      const { members } = await readMembers(list, async ({ path }) => Buffer.from(files[path] ?? ''));
      expect(
        matches({ packages: [{ registryType: 'npm', identifier: 'left-pad' }] }, {}, '1.0.0', members),
      ).toBe(expected);
    },
  );

  it.each([
    ['1.3.0-rc.1', '>=1.2', true],
    ['v1.3.0', '>=1.2', true],
    ['1.1.0', '>=1.2', false],
    ['2024-05', '>=1.2', false],
    ['2024-05', '*', true],
  ])('with versions matches %s against %s', (version, versions, expected) => {
    expect(matches({ versions }, {}, version)).toBe(expected);
  });
});
