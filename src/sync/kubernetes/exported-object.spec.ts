import { describe, expect, it } from 'vitest';
import { type Resource, RESOURCES } from './custom-resources.js';
import {
  Annotations,
  type ExportedServer,
  isUsableVersion,
  packageVersionOf,
  partsOf,
  readObject,
  type SkippedObject,
} from './exported-object.js';

const [MCP_SERVER, VIRTUAL, PROXY] = RESOURCES as [Resource, Resource, Resource];
const URL = 'https://mcp.example.com/weather';
const REQUIRED = {
  'registry-export': 'true',
  'registry-url': URL,
  'registry-description': 'Weather forecasts',
};
const BLOCK = 'io.modelcontextprotocol.registry/publisher-provided';

type ObjectAnnotations = Record<string, string | undefined>;

function anObject(annotations: ObjectAnnotations = {}, spec: object = {}, metadata: object = {}): object {
  const prefixed = Object.entries({ ...REQUIRED, ...annotations })
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [`toolhive.stacklok.dev/${key}`, value]);
  return {
    metadata: {
      namespace: 'tools',
      name: 'weather',
      uid: 'u-1',
      annotations: Object.fromEntries(prefixed),
      ...metadata,
    },
    spec,
  };
}

function entryOf(
  object: object,
  resource = MCP_SERVER,
): ExportedServer & { document: Record<string, unknown> } {
  const found = readObject(resource, object);
  if (found?.outcome !== 'entry') throw new Error(`No entry: ${JSON.stringify(found)}`);
  return { ...found, document: JSON.parse(found.version.document.toString()) as Record<string, unknown> };
}

function extensionOf(object: object, resource = MCP_SERVER): Record<string, unknown> {
  const meta = entryOf(object, resource).document['_meta'] as Record<
    string,
    Record<string, Record<string, object>>
  >;
  return meta[BLOCK]?.['io.github.stacklok']?.[URL] as Record<string, unknown>;
}

function reasonsOf(object: object): string {
  const found = readObject(MCP_SERVER, object) as SkippedObject;
  expect(found.outcome).toBe('skipped');
  return found.reasons.join('\n');
}

describe('an exported object', () => {
  it('of kind MCPServer becomes a server with all annotations', () => {
    const annotations = {
      'registry-title': 'Weather',
      'registry-icon': 'https://example.com/icon.png',
      'registry-category': 'science',
      tools: '["forecast","now"]',
      'tool-definitions': '[{"name":"now","inputSchema":{"type":"object"}}]',
      'authz-claims': '{"org":"acme","team":["data","platform"]}',
    };
    const image = 'ghcr.io/acme/weather:1.2.3';
    const { document, claims, tags, warnings } = entryOf(anObject(annotations, { image }));
    expect(document).toEqual({
      $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
      name: 'com.toolhive.k8s.tools/weather',
      description: 'Weather forecasts',
      title: 'Weather',
      version: '1.2.3',
      icons: [{ src: 'https://example.com/icon.png' }],
      packages: [
        {
          registryType: 'oci',
          identifier: image,
          version: '1.2.3',
          transport: { type: 'streamable-http', url: URL },
        },
      ],
      remotes: [{ type: 'streamable-http', url: URL }],
      _meta: {
        [BLOCK]: {
          'io.github.stacklok': {
            [URL]: {
              status: 'active',
              tools: ['forecast', 'now'],
              tool_definitions: [{ name: 'now', inputSchema: { type: 'object' } }],
              tags: ['science'],
              metadata: {
                kubernetes: {
                  kind: 'MCPServer',
                  namespace: 'tools',
                  name: 'weather',
                  uid: 'u-1',
                  image,
                  transport: 'stdio',
                },
              },
            },
          },
        },
      },
    });
    expect({ claims, tags, warnings }).toEqual({
      claims: { org: 'acme', team: ['data', 'platform'] },
      tags: ['science'],
      warnings: [],
    });
  });

  it.each([VIRTUAL, PROXY])('of kind $kind has no package', (resource) => {
    const object = anObject({}, { image: 'x:1.2.3', remoteUrl: 'https://other', transport: 'sse' });
    const { document } = entryOf(object, resource);
    expect(document).toMatchObject({ version: '1.0.0', remotes: [{ type: 'streamable-http', url: URL }] });
    expect(document).not.toHaveProperty('packages');
    expect(extensionOf(object, resource)).toEqual({
      status: 'active',
      metadata: {
        kubernetes: { kind: resource.kind, namespace: 'tools', name: 'weather', uid: 'u-1' },
      },
    });
  });

  it('gets its kind from the resource, not from its own `kind`', () =>
    expect(extensionOf({ ...anObject(), kind: '' })).toMatchObject({
      metadata: { kubernetes: { kind: 'MCPServer' } },
    }));

  it('becomes an entry in every phase, even if it is not ready', () => {
    const object = {
      ...anObject({}, {}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      status: { phase: 'Failed' },
    };
    expect(entryOf(object).document).toMatchObject({ name: 'com.toolhive.k8s.tools/weather' });
  });
});

describe('the annotation registry-export', () => {
  it.each<[string, ObjectAnnotations]>([
    ['is absent', { 'registry-export': undefined }],
    ['has upper case', { 'registry-export': 'True' }],
    ['has a trailing blank', { 'registry-export': 'true ' }],
    ['is false', { 'registry-export': 'false' }],
    ['is empty', { 'registry-export': '' }],
    [
      'is not true and others are invalid',
      { 'registry-export': 'yes', 'authz-claims': '{', 'registry-url': undefined },
    ],
  ])('%s, and the object is not exported', (_what, annotations) =>
    expect(readObject(MCP_SERVER, anObject(annotations))).toBeNull(),
  );

  it.each([[{}], [null], [{ metadata: {} }], [{ metadata: { annotations: [] } }], ['x']])(
    'the object %j is not exported',
    (object) => expect(readObject(MCP_SERVER, object)).toBeNull(),
  );
});

describe('the version', () => {
  it.each<[string | undefined, string | undefined, string]>([
    ['v1.2.3', undefined, 'v1.2.3'],
    ['1.2.3-rc.1', 'x:9.9.9', '1.2.3-rc.1'],
    [undefined, 'ghcr.io/acme/x:2.0.1@sha256:abc', '2.0.1'],
    [undefined, 'x:latest', '1.0.0'],
    [undefined, undefined, '1.0.0'],
    ['1.2', 'x:9.9.9', '9.9.9'],
    ['latest', undefined, '1.0.0'],
    ['', 'x:9.9.9', '9.9.9'],
  ])('annotated as %j, with the image %j, is %s', (annotated, image, version) => {
    const { document, warnings } = entryOf(
      anObject({ 'registry-version': annotated }, image ? { image } : {}),
    );
    expect(document['version']).toBe(version);
    expect(warnings).toHaveLength(annotated && annotated !== version ? 1 : 0);
  });
});

describe('the package', () => {
  it.each<[object, object]>([
    [{ image: 'x:1.2.3' }, { version: '1.2.3', transport: { type: 'streamable-http', url: URL } }],
    [{ image: 'x:nightly' }, { version: 'nightly' }],
    [{ image: 'x:1.2.3@sha256:abc' }, { identifier: 'x:1.2.3@sha256:abc', version: 'sha256:abc' }],
    [{ image: 'x:1', transport: 'stdio', proxyMode: 'sse' }, { transport: { type: 'sse', url: URL } }],
    [
      { image: 'x:1', transport: 'sse', proxyMode: 'streamable-http' },
      { transport: { type: 'sse', url: URL } },
    ],
    [{ image: 'x:1', transport: 'streamable-http' }, { transport: { type: 'streamable-http', url: URL } }],
  ])('of %j', (spec, expected) =>
    expect(entryOf(anObject({}, spec)).document['packages']).toMatchObject([
      { registryType: 'oci', ...expected },
    ]),
  );

  it.each(['x', 'x:latest', 'x:Latest', 'host:5000/x', 'x:1.x'])(
    'of the image %s has no version',
    (image) => {
      const [item] = entryOf(anObject({}, { image })).document['packages'] as [object];
      expect(item).not.toHaveProperty('version');
    },
  );

  it.each([[{}], [{ image: '' }], [{ image: 5 }]])('is absent for the spec %j', (spec) => {
    expect(entryOf(anObject({}, spec)).document).not.toHaveProperty('packages');
    expect(extensionOf(anObject({}, spec))).toMatchObject({
      metadata: { kubernetes: { kind: 'MCPServer' } },
    });
  });
});

describe('an invalid optional annotation is ignored or shortened with a warning', () => {
  it.each<[string, ObjectAnnotations, object, RegExp]>([
    [
      'a long title',
      { 'registry-title': 'x'.repeat(101) },
      { title: `${'x'.repeat(99)}…` },
      /registry-title has 101/,
    ],
    [
      'a long description, by characters',
      { 'registry-description': '🚀'.repeat(150) },
      { description: `${'🚀'.repeat(99)}…` },
      /registry-description has 150 characters and was shortened to 100/,
    ],
    [
      'an icon without TLS',
      { 'registry-icon': 'http://x/i.png' },
      { icons: undefined },
      /registry-icon was ignored/,
    ],
    [
      'an icon that is not a URL',
      { 'registry-icon': 'icon.png' },
      { icons: undefined },
      /registry-icon was ignored/,
    ],
    [
      'an icon with a long URL',
      { 'registry-icon': `https://x/${'a'.repeat(255)}` },
      { icons: undefined },
      /255/,
    ],
  ])('%s', (_what, annotations, expected, warning) => {
    const { document, warnings } = entryOf(anObject(annotations));
    for (const [key, value] of Object.entries(expected)) expect(document[key]).toEqual(value);
    expect(warnings).toEqual([expect.stringMatching(warning)]);
  });

  it.each([
    ['tools', 'forecast'],
    ['tools', '{"a":1}'],
    ['tools', '["a",1]'],
    ['tools', '[""]'],
    ['tool-definitions', '{'],
    ['tool-definitions', '["now"]'],
    ['tool-definitions', '[{"title":"no name"}]'],
    ['tool-definitions', '[{"name":"now","__proto__":{}}]'],
  ])('%s: %.40s', (annotation, value) => {
    const object = anObject({ [annotation]: value, 'registry-category': 'science' });
    expect(Object.keys(extensionOf(object)).sort()).toEqual(['metadata', 'status', 'tags']);
    expect(entryOf(object).warnings).toEqual([expect.stringContaining(`dev/${annotation} was ignored`)]);
  });
});

it.each([
  'registry-title',
  'registry-icon',
  'registry-category',
  'tools',
  'tool-definitions',
  'registry-version',
])('an empty annotation %s counts as absent', (annotation) =>
  expect(entryOf(anObject({ [annotation]: ' ' }))).toEqual(entryOf(anObject())),
);

describe('an object', () => {
  it.each<[string, ObjectAnnotations, RegExp]>([
    ['without a URL', { 'registry-url': undefined }, /dev\/registry-url is required/],
    ['with an invalid URL', { 'registry-url': 'mcp.example.com' }, /registry-url must begin with http/],
    ['with white space in its URL', { 'registry-url': 'https://a b' }, /registry-url must begin with http/],
    ['without a description', { 'registry-description': undefined }, /registry-description is required/],
    ['with a blank description', { 'registry-description': ' \n' }, /registry-description is required/],
    [
      'with an unpaired surrogate',
      { 'registry-description': 'a\ud83d' },
      /description: contains an unpaired surrogate/,
    ],
    ['with claims that are not JSON', { 'authz-claims': '{org: acme}' }, /authz-claims is not valid JSON/],
  ])('%s is skipped', (_what, annotations, reason) => {
    expect(reasonsOf(anObject(annotations))).toMatch(reason);
    expect(reasonsOf(anObject(annotations))).toMatch(/^MCPServer tools\/weather: /);
  });

  it('with a name that is too long for an entry is skipped', () =>
    expect(reasonsOf(anObject({}, {}, { name: 'n'.repeat(200) }))).toMatch(/name: has 223 characters/));

  it('that is skipped is reported with its name, its version and all reasons', () => {
    const found = readObject(
      MCP_SERVER,
      anObject({ 'registry-url': undefined, 'authz-claims': '5', 'registry-version': '2.0.0' }),
    );
    expect(found).toMatchObject({ name: 'com.toolhive.k8s.tools/weather', version: '2.0.0' });
    expect((found as SkippedObject).reasons).toHaveLength(2);
  });
});

it.each(['1.2.3', 'v1.2.3', '0.0.0', '1.2.3-rc.1', '1.2.3-x-y.0', `1.2.3-${'a'.repeat(249)}`])(
  'the version %.20s is valid',
  (version) => expect(isUsableVersion(version)).toBe(true),
);

it.each([
  '1.2',
  '1',
  '1.2.3.4',
  '1.2.3+build',
  '01.2.3',
  '1.2.3-01',
  '1.2.3-',
  'V1.2.3',
  'vv1.2.3',
  ' 1.2.3',
  '^1.2.3',
  'latest',
  '',
  `1.2.3-${'a'.repeat(250)}`,
])('the version %.20j is invalid', (version) => expect(isUsableVersion(version)).toBe(false));

it.each([
  ['ghcr.io/acme/x:2.0.1', '2.0.1', undefined, '2.0.1'],
  ['ghcr.io/acme/x:2.0.1@sha256:abc', '2.0.1', 'sha256:abc', 'sha256:abc'],
  ['ghcr.io/acme/x@sha256:abc', undefined, 'sha256:abc', 'sha256:abc'],
  ['host:5000/x', undefined, undefined, undefined],
  ['host:5000/x:3.0.0', '3.0.0', undefined, '3.0.0'],
  ['x:nightly', 'nightly', undefined, 'nightly'],
  ['x:latest', 'latest', undefined, undefined],
  ['x:1.x', '1.x', undefined, undefined],
  ['x', undefined, undefined, undefined],
  ['x:', undefined, undefined, undefined],
  ['x@', undefined, undefined, undefined],
  ['', undefined, undefined, undefined],
])('the image %j has the tag %j, the digest %j and the package version %j', (image, tag, digest, version) => {
  expect(partsOf(image)).toEqual({ tag, digest });
  expect(packageVersionOf(image)).toBe(version);
});

const claimsOf = (text: string | undefined) =>
  new Annotations(text === undefined ? {} : { 'toolhive.stacklok.dev/authz-claims': text }).claims();

it.each<[string | undefined, object]>([
  [undefined, {}],
  ['', {}],
  [' ', {}],
  ['{}', {}],
  ['{"org":"acme"}', { org: 'acme' }],
  ['{"org":["a","b"],"team":""}', { org: ['a', 'b'], team: '' }],
])('authz-claims %j: %j', (text, claims) => expect(claimsOf(text)).toEqual({ claims }));

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
it.each([
  ['{org: acme}', 'is not valid JSON'],
  ['{"org":"acme"', 'is not valid JSON'],
  ['[]', 'is not a valid claims map: must be a map of claims'],
  ['null', 'is not a valid claims map: must be a map of claims'],
  ['"acme"', 'is not a valid claims map: must be a map of claims'],
  ['{"level":5}', 'is not a valid claims map: "level" must be a string or a list of strings'],
  ['{"a":null}', 'is not a valid claims map: "a" must be a string or a list of strings'],
  ['{"a":{"b":"c"}}', 'is not a valid claims map: "a" must be a string or a list of strings'],
  ['{"a":["b",["c"]]}', 'is not a valid claims map: "a" must be a string or a list of strings'],
  ['{"a":[]}', 'is not a valid claims map: "a" must not be an empty list'],
  ['{"":"a"}', 'is not a valid claims map: "" a claim must have a name'],
  ['{"__proto__":{"a":"b"}}', 'is not a valid claims map: "__proto__" is not a valid claim name'],
  ['{"exp":"1"}', 'is not a valid claims map: "exp" identifies a token and cannot be used as a claim'],
  ['{"a":"\\u0000"}', 'is not a valid claims map: "a" has characters that cannot be stored'],
  ['{"a":"b","a":"c"}', 'contains the claim "a" twice'],
  ['{"a":"b","\\u0061":"c"}', 'contains the claim "a" twice'],
  [nested(101), 'is not valid JSON'],
  [nested(100), 'is not a valid claims map: must be a map of claims'],
])('authz-claims %j are invalid', (text, problem) =>
  expect(claimsOf(text)).toEqual({ problem: `the annotation toolhive.stacklok.dev/authz-claims ${problem}` }),
);

it.each([[undefined], [null], [[]], ['x'], [{ 'registry-export': 'true' }]])(
  'annotations %j do not export an object',
  (raw) => {
    expect(new Annotations(raw).isExported).toBe(false);
  },
);
