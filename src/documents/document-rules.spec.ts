import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { formatProblem } from './document-problem.js';
import { checkServer } from './document-rules.js';
import { ENTRY_TYPES } from './entry-types.js';
import { serverDocumentSchema } from './schemas/server-document.schema.js';
import { skillDocumentSchema } from './schemas/skill-document.schema.js';

const SERVER = { name: 'io.acme/a', description: 'd', version: '1.0.0' };
const SKILL = { namespace: 'io.acme', name: 'review', description: 'd', version: '1.0.0' };
const oci = { registryType: 'oci', identifier: 'x', transport: { type: 'stdio' } };
const remote = { type: 'sse', url: 'https://a.example' };
const MCPB = { ...oci, registryType: 'mcpb' };

/** A change to a valid server, the expected problem, and a valid change instead. */
const SERVERS: [object, string, object][] = [
  [{ name: undefined }, 'name: is required', { name: 'a/b' }],
  [{ name: 5 }, 'name: must be a string, not a number', { name: 'A.b-c/_d.e' }],
  [{ name: 'ab' }, 'name: has 2 characters, at least 3 are needed', { name: 'a/b' }],
  [{ name: 'a/b/c' }, 'name: "a/b/c" must be a namespace and a name separated by exactly one slash', { name: 'a/b.c' }],
  [{ name: `a/${'b'.repeat(199)}` }, 'name: has 201 characters', { name: `a/${'b'.repeat(198)}` }],
  [{ description: '' }, 'description: has no characters, at least 1 is needed', { description: 'x' }],
  [{ description: 'x'.repeat(101) }, 'description: has 101 characters, at most 100', { description: '🚀'.repeat(100) }],
  [{ description: null }, 'description: must be a string, not null', { description: 'x' }],
  [{ title: '' }, 'title: has no characters', { title: 'x' }],
  [{ title: ['x'] }, 'title: must be a string, not an array', { title: 'x'.repeat(100) }],
  [{ version: '' }, 'version: has no characters', { version: '0' }],
  [{ version: 'x'.repeat(256) }, 'version: has 256', { version: 'y'.repeat(255) }],
  [{ version: 'latest' }, 'version: "latest" is not a version', { version: 'newest' }],
  [{ version: 'LATEST' }, 'version: "LATEST" is not a version', { version: 'latest-1' }],
  [{ version: '^1.2' }, 'version: "^1.2" is a range', { version: '1.2' }],
  [{ version: '~1' }, 'version:', { version: '1' }],
  [{ version: '>=1' }, 'version:', { version: '1.0' }],
  [{ version: '1.x' }, 'version:', { version: '1.x1' }],
  [{ version: '1.2.X' }, 'version:', { version: '1.2.0-x' }],
  [{ version: '1.*' }, 'version:', { version: '1.0.0-a' }],
  [{ version: '1 || 2' }, 'version:', { version: '2025-11-25' }],
  [{ version: '1 - 2' }, 'version:', { version: '1-2' }],
  [{ version: ' 1' }, 'version:', { version: 'v1' }],
  [{ version: 'v1.x' }, 'version: "v1.x" is a range', { version: 'v1.0' }],
  [{ version: '1\ud800' }, 'version: contains an unpaired surrogate (half a character)', { version: '1🚀' }],
  [{ version: '1\u0000' }, 'version: contains a control character', { version: '1+b' }],
  [{ $schema: 'no uri' }, '$schema: "no uri" must be an absolute URI', { $schema: 'https://a.example/s.json' }],
  [{ websiteUrl: '/path' }, 'websiteUrl:', { websiteUrl: 'https://a.example' }],
  [{ repository: {} }, 'repository.url: is required', { repository: { url: 'https://a.example', source: 'git' } }],
  [{ repository: { url: 'x', source: 'git' } }, 'repository.url:', { repository: { url: 'http://a', source: 'git', id: '1' } }],
  [{ $schema: 'urn:a:b' }, '$schema: "urn:a:b" must be an absolute URI with http:// or https://', { $schema: 'HTTP://a.example/s.json' }],
  [{ websiteUrl: `https://${':'.repeat(1_000_000)}` }, 'websiteUrl:', { websiteUrl: `https://a/${':'.repeat(2_038)}` }],
  [{ websiteUrl: `https://a/${'x'.repeat(2_039)}` }, 'websiteUrl: "https://a/xxx', { websiteUrl: `https://a/${'x'.repeat(2_038)}` }],
  [{ websiteUrl: 'https://::' }, 'websiteUrl: "https://::" must be an absolute URI', { websiteUrl: 'https://[::1]/' }],
  [{ repository: { url: 'https://a:b:c', source: 'git' } }, 'repository.url:', { repository: { url: 'https://a:1/', source: 'git' } }],
  [{ remotes: [{ ...remote, url: `https://a/${'x'.repeat(2_039)}` }] }, 'remotes[0].url: has 2049 characters, at most 2048 are allowed', { remotes: [{ ...remote, url: `https://a/${'x'.repeat(2_038)}` }] }],
  [{ packages: [{ ...oci, registryBaseUrl: `https://a/${'x'.repeat(2_039)}` }] }, 'packages[0].registryBaseUrl:', { packages: [{ ...oci, registryBaseUrl: `https://a/${'x'.repeat(2_038)}` }] }],
  [{ packages: [{ ...MCPB, identifier: `https://a/${'x'.repeat(2_039)}` }] }, 'packages[0].identifier:', { packages: [{ ...MCPB, fileSha256: 'a'.repeat(64), identifier: `https://a/${'x'.repeat(2_038)}` }] }],
  [{ websiteUrl: 'javascript:alert(1)' }, 'websiteUrl: "javascript:alert(1)" must be an absolute URI with http:// or https://', { websiteUrl: 'https://a.example/?javascript:' }],
  [{ websiteUrl: 'https:a.example' }, 'websiteUrl:', { websiteUrl: 'https://a.example:443/' }],
  [{ websiteUrl: 'https://a/\u202e' }, 'websiteUrl:', { websiteUrl: 'https://a/%E2%80%AE' }],
  [{ repository: { url: 'git://a.example/x', source: 'git' } }, 'repository.url:', { repository: { url: 'https://a.example/x', source: 'git' } }],
  [{ repository: { url: 'https://a', source: 'g\nit' } }, 'repository.source: "g\\nit" must not contain control characters', { repository: { url: 'https://a', source: 'git' } }],
  [{ icons: [{ src: 'data:image/svg+xml,x' }] }, 'icons[0].src:', { icons: [{ src: 'https://a.example/i.svg' }] }],
  [{ packages: [{ ...oci, registryBaseUrl: 'file:///etc' }] }, 'packages[0].registryBaseUrl:', { packages: [{ ...oci, registryBaseUrl: 'https://a' }] }],
  [{ packages: [{ ...MCPB, identifier: 'javascript:x', fileSha256: 'a'.repeat(64) }] }, 'packages[0].identifier: "javascript:x" must be relative or begin with http', { packages: [{ ...MCPB, identifier: 'https://a/x.mcpb', fileSha256: 'a'.repeat(64) }, { ...oci, identifier: 'host:5000/x' }] }],
  [{ packages: [{ ...oci, transport: { type: 'sse', url: 'https://a/\u0007' } }] }, 'packages[0].transport.url:', { packages: [{ ...oci, transport: remote }] }],
  [{ remotes: [{ ...remote, url: 'https://a/\u2066' }] }, 'remotes[0].url:', { remotes: [{ ...remote, url: 'https://a/ä' }] }],
  [{ remotes: [{ ...remote, variables: { 'a\u202e': {} } }] }, 'remotes[0].variables: "a\u202e" must not contain control', { remotes: [{ ...remote, variables: { a: {} } }] }],
  [{ remotes: [{ ...remote, headers: [{ name: 'X', description: '\u202e' }] }] }, 'remotes[0].headers[0].description:', { remotes: [{ ...remote, headers: [{ name: 'X', description: 'a\n\tb' }] }] }],
  [{ title: 'a\nb' }, 'title: "a\\nb" must not contain control characters', { title: 'a b' }],
  [{ title: 'a\u202eb' }, 'title:', { title: 'עברית \u200f' }],
  [{ title: 'a\u200db' }, 'title: "a\u200db" must not contain control characters, invisible characters', { title: '👩🏽\u200d💻' }],
  [{ title: 'a\u2063b' }, 'title:', { title: 'a×b' }],
  [{ title: 'a\u{e0101}b' }, 'title:', { title: '葛\u{e0101}' }],
  [{ title: '葛\u{e0101}\u{e0102}' }, 'title:', { title: '葛\u{e0101}城' }],
  [{ title: '❤\ufe0f\ufe0e' }, 'title:', { title: '❤\ufe0f' }],
  [{ title: 'a\u2069b' }, 'title:', { title: 'a\u206ab' }],
  [{ description: 'a\u0000' }, 'description:', { description: 'a\n\tb' }],
  [{ description: 'a\rb' }, 'description:', { description: 'a\u2028b' }],
  [{ description: 'a\u0085b' }, 'description:', { description: 'a\u00a0b' }],
  [{ description: 'a\u202ab' }, 'description: "a\u202ab" must not contain control characters except line feed and tab', { description: 'a\u2029b' }],
  [{ title: 'a\u200bb' }, 'title:', { title: 'a\u00a0b' }],
  [{ title: '\u{1f469}\u200d' }, 'title:', { title: '\u{1f469}' }],
  [{ title: '\u{1f469}\u200d\u200d\u{1f4bb}' }, 'title:', { title: '\u{1f469}\u{1f4bb}' }],
  [{ description: 'a\u200cb' }, 'description:', { description: 'a\u200eb' }],
  [{ description: 'a\u2060b' }, 'description:', { description: 'a\u205fb' }],
  [{ description: '\ufeffa' }, 'description:', { description: '\ufe0fa' }],
  [{ description: 'a\u{e0041}\u{e007f}' }, 'description:', { description: '葛\u{e0100}' }],
  [{ description: '\u001b[2J' }, 'description:', { description: '[2J' }],
  [{ websiteUrl: 'vbscript://x/' }, 'websiteUrl:', { websiteUrl: 'HTTP://example.com' }],
  [{ $schema: 'javascript:alert(1)' }, '$schema:', { $schema: 'https://a.example/x' }],
  [{ remotes: [{ ...remote, headers: [{ name: 'X\r\nY' }] }] }, 'remotes[0].headers[0].name:', { remotes: [{ ...remote, headers: [{ name: 'X' }] }] }],
  [{ version: '1\u200b' }, 'version:', { version: '1-0' }],
  [{ version: '1\u00852' }, 'version:', { version: '1+2' }],
  ...['~> 1.2', '<2.0.0', '<=2', '=1.0.0', '*', '>=1.0.0,<2.0.0', '1.0.0 ', '1.0.0\n'].map((version): [object, string, object] => [{ version }, 'version:', { version: 'x86' }]),
  [{ version: '.' }, 'version: "." is a path segment', { version: '.1' }],
  [{ version: '..' }, 'version: ".." is a path segment', { version: '...' }],
  [{ version: '1 beta' }, 'version: "1 beta" contains white space', { version: '1-beta' }],
  [{ version: 'a/b' }, 'version: "a/b" contains a "/"', { version: 'a-b' }],
  [{ icons: {} }, 'icons: must be an array, not an object', { icons: [] }],
  [{ icons: [{}] }, 'icons[0].src: is required', { icons: [{ src: 'https://a.example/i.png' }] }],
  [{ icons: [{ src: 'https://a', theme: 'blue' }] }, 'icons[0].theme: must be one of "light", "dark", not "blue"', { icons: [{ src: 'https://a', theme: 'dark' }] }],
  [{ icons: [{ src: 'https://a', sizes: ['big'] }] }, 'icons[0].sizes[0]:', { icons: [{ src: 'https://a', sizes: ['any', '48x48'] }] }],
  [{ icons: [{ src: 'https://a', mimeType: 'image/gif' }] }, 'icons[0].mimeType:', { icons: [{ src: 'https://a', mimeType: 'image/webp' }] }],
  [{ packages: [{}] }, 'packages[0].registryType: is required', { packages: [oci] }],
  [{ packages: [{ ...oci, transport: {} }] }, 'packages[0].transport.type: is required', { packages: [oci] }],
  [{ packages: [{ ...oci, transport: { type: 'tcp' } }] }, 'packages[0].transport.type: must be one of "stdio", "streamable-http", "sse", not "tcp"', { packages: [oci] }],
  [{ packages: [{ ...oci, transport: { type: 'sse' } }] }, 'packages[0].transport.url: is required for a transport of type "sse"', { packages: [{ ...oci, transport: remote }] }],
  [{ packages: [{ ...oci, version: 'latest' }] }, 'packages[0].version: "latest" is not a version', { packages: [{ ...oci, version: '1' }] }],
  [{ packages: [{ ...oci, version: 'Latest' }] }, 'packages[0].version: "Latest" is not a version', { packages: [{ ...oci, version: 'newest' }] }],
  [{ packages: [{ ...oci, version: '^1.0' }] }, 'packages[0].version: "^1.0" is a range', { packages: [{ ...oci, version: 'v1.0' }] }],
  [{ packages: [oci, { ...oci, version: '>=1 <2' }] }, 'packages[1].version: ">=1 <2" is a range', { packages: [oci, { ...oci, version: '1.0 beta' }] }],
  [{ packages: [oci, { ...oci, version: '*' }, 5] }, 'packages[1].version: "*" is a range', { packages: [oci, { ...oci, version: '1.0-snapshot' }] }],
  [{ packages: [{ ...oci, transport: { type: 5 } }] }, 'packages[0].transport.type: must be one of "stdio", "streamable-http", "sse", not a number', { packages: [oci] }],
  [{ packages: [MCPB] }, 'packages[0].fileSha256: is required for a package of type "mcpb"', { packages: [{ ...MCPB, fileSha256: 'a'.repeat(64) }] }],
  [{ packages: [{ ...oci, fileSha256: 'A'.repeat(64) }] }, 'packages[0].fileSha256:', { packages: [{ ...oci, fileSha256: '0'.repeat(64) }] }],
  [{ packages: [{ ...oci, environmentVariables: [{ value: 'x' }] }] }, 'packages[0].environmentVariables[0].name: is required', { packages: [{ ...oci, environmentVariables: [{ name: 'X' }] }] }],
  [{ packages: [{ ...oci, environmentVariables: [{ name: 'X', isSecret: 'yes' }] }] }, 'packages[0].environmentVariables[0].isSecret: must be a boolean', { packages: [{ ...oci, environmentVariables: [{ name: 'X', isSecret: true }] }] }],
  [{ packages: [{ ...oci, environmentVariables: [{ name: 'X', format: 'date' }] }] }, 'packages[0].environmentVariables[0].format:', { packages: [{ ...oci, environmentVariables: [{ name: 'X', format: 'filepath' }] }] }],
  [{ packages: [{ ...oci, packageArguments: [{}] }] }, 'packages[0].packageArguments[0].type: is required', { packages: [{ ...oci, packageArguments: [{ type: 'positional', value: 'x' }] }] }],
  [{ packages: [{ ...oci, packageArguments: [{ type: 'positional' }] }] }, 'packages[0].packageArguments[0]: an argument of type "positional" needs value or valueHint', { packages: [{ ...oci, packageArguments: [{ type: 'positional', valueHint: 'x' }] }] }],
  [{ packages: [{ ...oci, runtimeArguments: [{ type: 'named' }] }] }, 'packages[0].runtimeArguments[0].name: is required for an argument of type "named"', { packages: [{ ...oci, runtimeArguments: [{ type: 'named', name: '--x' }] }] }],
  [{ packages: [{ ...oci, runtimeArguments: [{ type: 'named', name: '-x', variables: { a: 5 } }] }] }, 'packages[0].runtimeArguments[0].variables.a: must be an object', { packages: [{ ...oci, runtimeArguments: [{ type: 'named', name: '-x', variables: { a: { default: '1' } } }] }] }],
  [{ remotes: [{ type: 'stdio' }] }, 'remotes[0].', { remotes: [remote] }],
  [{ remotes: [{ type: 'sse' }] }, 'remotes[0].url: is required for a transport of type "sse"', { remotes: [remote] }],
  [{ remotes: [{ ...remote, url: 'ftp://a' }] }, 'remotes[0].url: "ftp://a" must begin with http:// or https:// and contain no white space', { remotes: [{ ...remote, url: 'http://a/{b}' }] }],
  [{ remotes: [{ ...remote, headers: [{}] }] }, 'remotes[0].headers[0].name: is required', { remotes: [{ ...remote, headers: [{ name: 'X' }] }] }],
  [{ _meta: [] }, '_meta: must be an object, not an array', { _meta: { anything: 1 } }],
  [{ _meta: { 'io.modelcontextprotocol.registry/publisher-provided': 'x' } }, '_meta.io.modelcontextprotocol.registry/publisher-provided: must be an object', { _meta: { 'io.modelcontextprotocol.registry/publisher-provided': {} } }],
]; // oxfmt-ignore

const SKILLS: [object, string, object][] = [
  [{ namespace: undefined }, 'namespace: is required', { namespace: 'com.example' }],
  [{ namespace: 'ab' }, 'namespace: has 2 characters, at least 3 are needed', { namespace: 'abc' }],
  [{ namespace: 'io.\u0000' }, 'namespace:', { namespace: 'io.a_b' }],
  [{ namespace: 'a/b' }, 'namespace: "a/b" must begin with a letter or digit', { namespace: 'a.b' }],
  [{ name: 'a' }, 'name: "a" must have at least two characters', { name: 'ab' }],
  [{ name: 'Ab' }, 'name:', { name: 'a-b' }],
  [{ name: '-ab' }, 'name:', { name: 'a--b' }],
  [{ name: 'a'.repeat(65) }, 'name: has 65', { name: 'a'.repeat(64) }],
  [{ description: 'x'.repeat(1025) }, 'description: has 1025', { description: 'x'.repeat(1024) }],
  [{ version: '' }, 'version: has no characters', { version: 'abc123' }],
  [{ version: '>1' }, 'version:', { version: '1' }],
  [{ status: 'deleted' }, 'status: must be one of "active", "deprecated", "archived", not "deleted"', { status: 'archived' }],
  [{ title: 'x'.repeat(101) }, 'title: has 101', { title: '' }],
  [{ license: 'x'.repeat(257) }, 'license: has 257', { license: 'MIT' }],
  [{ compatibility: 'x'.repeat(501) }, 'compatibility: has 501', { compatibility: 'any' }],
  [{ allowedTools: ['a', 'a'] }, 'allowedTools: contains the same item twice, at 0 and 1', { allowedTools: ['a', 'b'] }],
  [{ allowedTools: [1] }, 'allowedTools[0]: must be a string', { allowedTools: [] }],
  [{ icons: [{}] }, 'icons[0].src: is required', { icons: [{ src: 'i.png', size: '1x1', label: 'i' }] }],
  [{ packages: [{}] }, 'packages[0].registryType: is required', { packages: [{ registryType: 'oci' }] }],
  [{ packages: [{ registryType: 'npm' }] }, 'packages[0].registryType: must be one of "oci", "git", not "npm"', { packages: [{ registryType: 'git', url: 'https://a' }] }],
  [{ provenance: { oops: 1 } }, 'provenance.oops: is not allowed here; allowed keys: sigstore_url,', { provenance: { signer_identity: 'x' } }],
  [{ provenance: { attestation: { x: 1 } } }, 'provenance.attestation.x: is not allowed here', { provenance: { attestation: {} } }],
  [{ metadata: 'x' }, 'metadata: must be an object', { metadata: { a: [1] } }],
  [{ icons: [{ src: 'javascript:x' }] }, 'icons[0].src: "javascript:x" must be relative or begin with http', { icons: [{ src: './i.png' }, { src: '/i.png' }, { src: 'https://a/i.png' }] }],
  [{ icons: [{ src: 'x'.repeat(2_049) }] }, 'icons[0].src:', { icons: [{ src: 'x'.repeat(2_048) }] }],
  [{ icons: [{ src: ' javascript:x' }] }, 'icons[0].src:', { icons: [{ src: 'javascript/x.png' }] }],
  [{ icons: [{ src: 'java\tscript:x' }] }, 'icons[0].src:', { icons: [{ src: '?javascript:x' }] }],
  [{ icons: [{ src: '\u0001javascript:x' }] }, 'icons[0].src:', { icons: [{ src: 'i', label: 'i' }] }],
  [{ icons: [{ src: 'i', label: 'a\nb' }] }, 'icons[0].label:', { icons: [{ src: '', label: '' }] }],
  [{ packages: [{ registryType: 'git', url: 'ssh://a/b' }] }, 'packages[0].url:', { packages: [{ registryType: 'git', url: 'https://a/b' }] }],
  [{ provenance: { repository_uri: 'javascript:x' } }, 'provenance.repository_uri:', { provenance: { repository_uri: '', sigstore_url: 'tuf-repo.github.com', cert_issuer: 'https://a' } }],
  [{ title: 'a\u2067b' }, 'title:', { title: 'ab' }],
  [{ description: '\u0000' }, 'description:', { description: 'a\n\tb' }],
  [{ compatibility: '\u001b[1m' }, 'compatibility:', { compatibility: 'a\nb' }],
  [{ license: 'a\nb' }, 'license:', { license: 'MIT OR Apache-2.0' }],
  [{ allowedTools: ['a\u202e'] }, 'allowedTools[0]:', { allowedTools: ['Bash(git *)'] }],
  [{ version: '..' }, 'version: ".." is a path segment', { version: '0..1' }],
  [{ repository: { url: 'javascript:x' } }, 'repository.url:', { repository: { url: 'http://a' } }],
  [{ repository: { url: 'x' } }, 'repository.url:', { repository: { url: 'https://a', type: 'git' } }],
]; // oxfmt-ignore

/** Plugins share the rules of skills, except for skill-only keys, which count as unknown keys. */
const PLUGINS = SKILLS.filter(([change]) =>
  Object.keys(change).every((key) => !['compatibility', 'allowedTools', 'provenance'].includes(key)),
);

describe.each([
  ['server', checkServer, SERVER, SERVERS],
  ['skill', ENTRY_TYPES.skill.check, SKILL, SKILLS],
  ['plugin', ENTRY_TYPES.plugin.check, SKILL, PLUGINS],
] as const)('a %s document', (_type, check, good, rows) => {
  it('without problems is valid, including unknown keys', () => {
    expect(check({ ...good, unknown: { nested: [null] } })).toEqual([]);
  });

  it.each(rows)('with $0: $1', (change, problem, twin) => {
    const sentences = check(JSON.parse(JSON.stringify({ ...good, ...change }))).map(formatProblem);
    expect(
      sentences.some((sentence) => sentence.startsWith(problem)),
      sentences.join('\n'),
    ).toBe(true);
    expect(check({ ...good, ...twin })).toEqual([]);
  });

  it.each([null, undefined, 5, 'x', [], true])('is rejected if it is %j', (value) => {
    expect(check(value)).not.toEqual([]);
  });

  it('yields one problem if it is large', () => {
    const packages = (length: number) => Array.from({ length }, () => ({}));
    expect(check({ ...good, packages: packages(100_000) })).toHaveLength(1);
    expect(check({ ...good, packages: packages(5_600) })).toHaveLength(1);
    expect(check({ ...good, packages: packages(5_400) })).toHaveLength(20);
  });

  it('yields at most 20 problems', () => {
    const packages = Array.from({ length: 50 }, () => ({}));
    expect(check({ ...good, packages }).length).toBeLessThanOrEqual(20);
  });

  it('yields problems of several kinds together', () => {
    expect(check({ ...good, description: 5, version: 'latest' }).map(({ path }) => path)).toEqual(
      expect.arrayContaining(['description', 'version']),
    );
  });
});

it('checks no more packages than it reports problems', () => {
  let seen = 0;
  class WrongPackage {
    get version(): string {
      seen += 1;
      return '^1';
    }
  }
  const packages = Array.from({ length: 1_000 }, () => new WrongPackage());
  expect(checkServer({ ...SERVER, packages, websiteUrl: 'x'.repeat(16_384) })).toHaveLength(20);
  expect(seen).toBeLessThan(40);
});

it('has a rule in words for every pattern in the schemas', () => {
  const patterns: unknown[] = [];
  JSON.stringify([serverDocumentSchema, skillDocumentSchema], (_key, value: unknown) => {
    if (typeof value === 'object' && value !== null && 'pattern' in value) patterns.push(value);
    return value;
  });
  expect(patterns.length).toBeGreaterThan(4);
  for (const pattern of patterns) expect(pattern).toHaveProperty('rule');
});

it.each(Object.entries(ENTRY_TYPES))('has a valid JSON schema for a %s', (_type, { schema }) => {
  const ajv = new Ajv({ strict: false });
  expect([ajv.validateSchema(schema), ajv.errors]).toEqual([true, null]);
});
