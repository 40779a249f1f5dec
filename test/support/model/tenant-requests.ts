import { gzipSync } from 'node:zlib';
import { encodeCursor } from '../../../dist/http/lists.js';
import { aServer, aSkill, type Document } from '../documents.js';
import type { Headers } from '../http.js';
import { MALFORMED } from '../malformed-requests.js';
import { toolCall } from '../mcp.js';
import { entryAt } from '../publishing.js';
import type { Random } from '../random.js';

export const TENANT_ROLES = ['reader', 'writer', 'sources', 'registries'] as const;
export type TenantRole = (typeof TENANT_ROLES)[number];

export interface TenantRequest {
  readonly by: TenantRole;
  readonly method: string;
  readonly path: string;
  /** Strings and bytes are sent verbatim, anything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Headers;
}

/** Values of the claim `n` that the tenant's callers hold: claims of a body can be anything within them. */
export const HELD_VALUES = Array.from({ length: 1_000 }, (_, index) => `${index}`);

const KIB = 1_024;
const MIB = KIB * KIB;
const CLIENTS = ['vscode', 'copilot', 'claude-code', 'cursor'];
const OWN_NAMES = ['a', 'b', 'c', 'd', 'e'].map((letter) => `io.red/${letter}`);
const NAMES = [
  ...OWN_NAMES,
  'io.red/catalogue-1',
  'io.free/a',
  'io.blue/tool-1',
  'io.blue/file-1',
  'io.red/',
];
const REGISTRIES = ['red', 'red', 'shared', 'shared', 'blue', 'none', 'red-1', 'red-2', 'red-3'];
const SOURCES = ['red-file', 'blue-file', 'managed', 'none'];
/** Not all of them can be stored; a statement, cache or parser could mistake some for something else. */
const TEXTS = [
  '',
  '\0',
  'a\0b',
  '\ud800',
  '\u202e',
  '\u200b',
  '__proto__',
  'constructor',
  '{"a",NULL}',
  '\\',
  "'; --",
  '%',
  '*'.repeat(200),
];
const PATH_TEXTS = ['%00', 'a%00b', '%ff', '%c0%af', '%ed%a0%80', '%', '__proto__', '%E2%80%AE', "'", '*'];
const STATUSES = ['active', 'deprecated', 'deleted'];

/** A random request of one of the tenant's callers: any route, at and just beyond every limit. */
export function aTenantRequest(random: Random, folder: string): TenantRequest {
  return new TenantRequests(random, folder).any();
}

class TenantRequests {
  constructor(
    private readonly random: Random,
    private readonly folder: string,
  ) {}

  any(): TenantRequest {
    const { random } = this;
    return random.weigh<() => TenantRequest>([
      [14, () => this.read()],
      [6, () => this.mangledRead()],
      [20, () => this.publication()],
      [8, () => this.entryChange()],
      [12, () => this.source()],
      [10, () => this.registry()],
      [8, () => this.adminRead()],
      [8, () => this.explained()],
      [6, () => this.tool()],
      [4, () => this.publisher()],
      [6, () => this.rawBody()],
      [4, () => this.malformed()],
    ])();
  }

  private pick<T>(from: readonly T[]): T {
    return this.random.pick(from);
  }

  /** A caller who has the role of the route in most cases. */
  private by(role: TenantRole): TenantRole {
    return this.random.chance(0.9) ? role : this.pick(TENANT_ROLES);
  }

  /** A number around the limit. */
  private near(limit: number, by = 1): number {
    return limit + this.random.between(-by, by);
  }

  private text(): string {
    return this.random.chance(0.3) ? 'x'.repeat(this.near(8_192)) : this.pick(TEXTS);
  }

  private version(): string {
    const odd = ['latest', '.', 'v1.0.0', '1.0', '1%00', 'x'.repeat(this.near(255))];
    return this.random.chance(0.15) ? this.pick(odd) : `${this.random.between(0, 40)}.0.0`;
  }

  private entry(below = ''): string {
    return entryAt(this.pick(['server', 'server', 'skill', 'gadget']), this.pick(NAMES), below);
  }

  /**
   * Claims that the tenant may grant, or none at all. Never a subset that the other tenant's callers hold: resources
   * with those claims are also meant for them.
   */
  private claims(): unknown {
    const { random } = this;
    return random.weigh<unknown>([
      [16, { org: 'red' }],
      [4, { org: 'red', n: HELD_VALUES.slice(random.between(0, 950)) }],
      [2, { org: 'red', n: [...HELD_VALUES, ...HELD_VALUES].slice(0, this.near(999, 2)) }],
      [
        1,
        { org: 'red', ...Object.fromEntries(HELD_VALUES.slice(0, this.near(99)).map((n) => [`k${n}`, n])) },
      ],
      [1, { org: ['red', 'blue'] }],
      [1, { org: 'blue' }],
      [1, { org: 'red', [this.text()]: this.text() }],
      [1, { org: 'red', n: [[['1']]] }],
      [1, {}],
      [1, undefined],
    ]);
  }

  private document(name: string, version: string): Document {
    const { random } = this;
    const type = random.chance(0.8) ? aServer : aSkill;
    const padding = (bytes: number) => ({ _meta: { 'com.red/x': 'x'.repeat(bytes) } });
    const fill = MIB - JSON.stringify(type(name, version, padding(0))).length;
    return type(
      name,
      version,
      random.weigh<Document>([
        [14, {}],
        [2, padding(this.near(fill))],
        [2, padding(random.between(60_000, 900_000))],
        [1, { description: this.text() }],
        [1, { title: this.text() }],
        [1, { _meta: { 'com.red/x': nested(this.near(98, 3)) } }],
        [1, { _meta: { 'com.red/x': nested(this.near(126, 3)) } }],
        [1, { _meta: { 'com.red/x': Array.from({ length: this.near(20_000) }, () => 0) } }],
        [
          1,
          {
            _meta: {
              'io.modelcontextprotocol.registry/publisher-provided': {
                x: 'x'.repeat(this.near(64 * KIB, 20)),
              },
            },
          },
        ],
        [1, { packages: Array.from({ length: this.near(50) }, (_, index) => aPackage(index)) }],
        [
          1,
          {
            remotes: [{ type: 'streamable-http', url: 'https://red.example/'.padEnd(this.near(2_048), 'x') }],
          },
        ],
      ]),
    );
  }

  private publication(): TenantRequest {
    const { random } = this;
    const name = random.chance(0.8) ? this.pick(OWN_NAMES) : this.pick(NAMES);
    const document = this.document(name, decodeURIComponent(this.version()));
    const type = 'namespace' in document ? 'skill' : 'server';
    const path = this.pick([
      '/v1/entries',
      '/v1/entries',
      '/v1/entries?dry_run=true',
      '/v1/entries/validate',
    ]);
    return { by: this.by('writer'), method: 'POST', path, body: { [type]: document, claims: this.claims() } };
  }

  private entryChange(): TenantRequest {
    const by = this.by('writer');
    const message = this.random.chance(0.3) ? { statusMessage: this.text() } : {};
    const status = { status: this.random.chance(0.9) ? this.pick(STATUSES) : this.text(), ...message };
    return this.random.weigh<TenantRequest>([
      [3, { by, method: 'PUT', path: this.entry('/claims'), body: { claims: this.claims() } }],
      [2, { by, method: 'PATCH', path: this.entry('/status'), body: status }],
      [2, { by, method: 'PATCH', path: this.entry(`/versions/${this.version()}/status`), body: status }],
      [3, { by, method: 'DELETE', path: this.entry(`/versions/${this.version()}`) }],
    ]);
  }

  private filter(): Document | undefined {
    const { random } = this;
    const globs = (count: number, length: number) =>
      Array.from({ length: count }, (_, index) => `${index}`.padEnd(length, 'x'));
    return random.weigh<Document | undefined>([
      [8, undefined],
      [2, { names: { exclude: globs(200, this.near(318, 4)) } }],
      [1, { names: { include: globs(this.near(1_000), 10) } }],
      [1, { names: { include: [`${'*a'.repeat(100)}`] } }],
      [1, { tags: { include: [this.text()] } }],
    ]);
  }

  private source(): TenantRequest {
    const { random } = this;
    const by = this.by('sources');
    const name = random.chance(0.8) ? `red-source-${random.between(1, 30)}` : this.pick(SOURCES);
    const path = `/v1/sources/${name}`;
    if (random.chance(0.2)) return { by, method: 'DELETE', path };
    if (random.chance(0.2))
      return {
        by,
        method: 'POST',
        path: `${path}/sync`,
        ...(random.chance(0.3) ? { body: { allowShrink: true } } : {}),
      };
    const where = random.weigh<Document>([
      [10, { file: { path: `${this.folder}/red/small.json` } }],
      [3, { file: { path: `${this.folder}/red/limits.json` } }],
      [1, { file: { path: `${this.folder}/red/broken.json` } }],
      [1, { file: { path: `${this.folder}/blue/blue.json` } }],
      [1, { file: { path: `${this.folder}/red/../blue/blue.json` } }],
      [1, { file: { path: this.text() } }],
      [1, { file: { url: 'http://127.0.0.1:9/'.padEnd(this.near(2_048), 'x') } }],
      [1, { git: { repository: 'https://127.0.0.1:9/red.git', path: this.text() } }],
      [1, { api: { endpoint: 'http://127.0.0.1:9' } }],
      [1, { kubernetes: { namespaces: ['red'] } }],
      [
        1,
        {
          managed: {
            names: Array.from({ length: this.near(200) }, () => ({
              include: ['io.red/*'],
              claims: { org: 'red' },
            })),
          },
        },
      ],
    ]);
    const more = {
      syncPolicy: { interval: this.random.chance(0.9) ? this.pick(['1m', '30d', '1h']) : this.text() },
      filter: this.filter(),
    };
    return { by, method: 'PUT', path, body: { ...where, ...more, claims: this.claims() } };
  }

  private registry(): TenantRequest {
    const { random } = this;
    const by = this.by('registries');
    const name = random.chance(0.8) ? `red-${random.between(1, 30)}` : this.pick(REGISTRIES);
    const path = `/v1/registries/${name}`;
    if (random.chance(0.2)) return { by, method: 'DELETE', path };
    const body = {
      sources: random.weigh<unknown>([
        [6, ['red-file']],
        [1, ['red-source-1', 'red-file']],
        [1, ['red-file', 'managed']],
        [1, Array.from({ length: this.near(1_000) }, (_, index) => `red-source-${index}`)],
        [1, Array.from({ length: this.near(1_000) }, () => 'red-file')],
        [1, ['red-file', 'blue-file']],
        [1, []],
        [1, [this.text()]],
      ]),
      claims: this.claims(),
      ...random.weigh<Document>([
        [10, {}],
        [1, { publishClaims: { org: 'red' } }],
        [1, { anonymous: { claims: { org: 'red' } } }],
        [
          1,
          {
            keys: Array.from({ length: this.near(20) }, (_, index) => ({
              name: `k${index}`,
              secretFile: '/etc/passwd',
              claims: { org: 'red' },
            })),
          },
        ],
      ]),
    };
    return { by, method: 'PUT', path, body };
  }

  private cursor(): string {
    const kind = this.pick([
      'servers',
      'versions',
      'source-entries',
      'sources',
      'registries',
      'audit',
    ] as const);
    const after = { name: this.text(), key: this.text() };
    return encodeCursor(kind as 'servers', { filter: {}, limit: this.near(100), after } as never);
  }

  private read(): TenantRequest {
    const { random } = this;
    const below = `/registry/${this.pick(REGISTRIES)}/v0.1`;
    const name = encodeURIComponent(this.pick(NAMES));
    const search = encodeURIComponent(this.pick(['io', 'red', 'blue', 'x'.repeat(this.near(512)), 'a']));
    const path = random.weigh<string>([
      [4, `${below}/servers?limit=${this.near(100)}`],
      [3, `${below}/servers?search=${search}`],
      [2, `${below}/servers?cursor=${this.cursor()}`],
      [2, `${below}/servers?updated_since=2026-01-01T00:00:00Z&include_deleted=true`],
      [2, `${below}/servers/${name}/versions?include_deleted=true`],
      [2, `${below}/servers/${name}/versions/${this.version()}`],
      [2, `${below}/x/dev.toolhive/skills?search=${search}`],
      [2, `${below}/x/search?q=${search}&sort=${this.pick(['relevance', 'updated', 'name', 'x'])}`],
      [
        3,
        `${below}/x/client-config?client=${this.pick(CLIENTS)}&form=${this.pick(['servers', 'allowlist'])}`,
      ],
      [2, '/registry'],
      [1, '/v1/me?claims=true'],
    ]);
    return { by: this.pick(TENANT_ROLES), method: 'GET', path };
  }

  private mangledRead(): TenantRequest {
    const bad = this.pick([...PATH_TEXTS, 'x'.repeat(this.near(8_192))]);
    const path = this.pick([
      `/registry/${bad}/v0.1/servers`,
      `/registry/shared/v0.1/servers/${bad}/versions/latest`,
      `/registry/shared/v0.1/servers/io.blue%2Ftool-1/versions/${bad}`,
      `/registry/shared/v0.1/servers?search=${bad}`,
      `/registry/shared/v0.1/servers?cursor=${bad}`,
      `/registry/shared/v0.1/servers?version=${bad}`,
      `/registry/shared/v0.1/x/search?q=${bad}&tag=${bad}`,
      `/registry/shared/k/${bad}/v0.1/servers`,
      `/v1/sources/${bad}`,
      `/v1/registries/${bad}/access?type=server&entry=${bad}`,
      `/v1/entries/server/${bad}/versions/1.0.0`,
      `/v1/audit?target=${bad}&actor=${bad}`,
    ]);
    return { by: this.pick(TENANT_ROLES), method: 'GET', path };
  }

  private adminRead(): TenantRequest {
    const by = this.pick(TENANT_ROLES.slice(1));
    const path = this.pick([
      '/v1/sources',
      `/v1/sources?limit=${this.near(100)}`,
      `/v1/sources?cursor=${this.cursor()}`,
      `/v1/sources/${this.pick(SOURCES)}`,
      `/v1/sources/${this.pick(SOURCES)}/entries`,
      '/v1/registries',
      `/v1/registries/${this.pick(REGISTRIES)}`,
      `/v1/registries/${this.pick(REGISTRIES)}/entries`,
      `/v1/registries/${this.pick(REGISTRIES)}/access`,
      `/v1/registries/${this.pick(REGISTRIES)}/access?type=server&entry=${encodeURIComponent(this.pick(NAMES))}`,
      '/v1/entries',
      this.entry(),
      this.entry('/claims'),
      this.entry('/access'),
      `/v1/audit?limit=${this.near(1_000)}`,
      '/v1/audit?outcome=refused',
      `/v1/audit?cursor=${this.cursor()}`,
    ]);
    const isStream = path.startsWith('/v1/audit') && this.random.chance(0.3);
    return { by, method: 'GET', path, ...(isStream ? { headers: { Accept: 'application/x-ndjson' } } : {}) };
  }

  private explained(): TenantRequest {
    const { random } = this;
    const held = random.weigh<Document>([
      [3, { org: 'red' }],
      [2, Object.fromEntries(HELD_VALUES.slice(0, this.near(200)).map((n) => [`k${n}`, n]))],
      [
        2,
        Object.fromEntries(
          HELD_VALUES.slice(0, 100).map((n) => [`k${n}`, HELD_VALUES.slice(0, this.near(10))]),
        ),
      ],
      [1, { org: 'x'.repeat(this.near(64 * KIB, 20)) }],
      [1, { deep: nested(this.near(19, 2)) }],
      [1, { org: 'blue', area: 'shared' }],
    ]);
    const body = {
      registry: random.chance(0.9) ? this.pick(REGISTRIES) : this.text(),
      ...(random.chance(0.7)
        ? { entry: { type: 'server', name: random.chance(0.9) ? this.pick(NAMES) : this.text() } }
        : {}),
      ...(random.chance(0.3)
        ? { action: this.pick(['publish', 'manage', 'see']), claims: this.claims() }
        : {}),
      ...(random.chance(0.6) ? { as: { claims: held } } : {}),
    };
    const path = random.chance(0.8) ? '/v1/access/explain' : '/v1/access/preview';
    return { by: this.pick(TENANT_ROLES), method: 'POST', path, body };
  }

  private tool(): TenantRequest {
    const { random } = this;
    const name = random.chance(0.8) ? this.pick(NAMES) : this.text();
    const body = random.weigh<unknown>([
      [
        3,
        toolCall('search_servers', { query: random.chance(0.7) ? 'io' : this.text(), limit: this.near(100) }),
      ],
      [2, toolCall('get_server', { name, version: this.version() })],
      [2, toolCall('how_to_connect', { name })],
      [1, toolCall('search_servers', { cursor: this.cursor() })],
      [1, toolCall(this.text(), { [this.text()]: this.text() })],
      [1, toolCall('get_server', { name: 'x'.repeat(this.near(64 * KIB - 200, 200)) })],
      [1, Array.from({ length: this.near(100) }, () => toolCall('get_server', { name }))],
    ]);
    return {
      by: this.pick(TENANT_ROLES),
      method: 'POST',
      path: `/registry/${this.pick(REGISTRIES)}/mcp`,
      body,
    };
  }

  private publisher(): TenantRequest {
    const { random } = this;
    const below = `/registry/${this.pick(REGISTRIES)}/v0.1`;
    const document = this.document(this.pick(NAMES), decodeURIComponent(this.version()));
    const status = { status: this.pick(STATUSES) };
    return random.weigh<TenantRequest>([
      [3, { by: this.by('writer'), method: 'POST', path: `${below}/publish`, body: document }],
      [3, { by: this.pick(TENANT_ROLES), method: 'POST', path: `${below}/validate`, body: document }],
      [
        1,
        {
          by: this.by('writer'),
          method: 'PATCH',
          path: `${below}/servers/${encodeURIComponent(this.pick(NAMES))}/status`,
          body: status,
        },
      ],
      [
        1,
        {
          by: this.pick(TENANT_ROLES),
          method: 'POST',
          path: `${below}/auth/github-oidc`,
          body: { oidc_token: this.text() },
        },
      ],
    ]);
  }

  /** A body that no client would send, on a route that takes one. */
  private rawBody(): TenantRequest {
    const { random } = this;
    const [by, method, path] = this.pick<readonly [TenantRole, string, string]>([
      ['writer', 'POST', '/v1/entries'],
      ['writer', 'POST', '/v1/entries/validate'],
      ['writer', 'PUT', entryAt('server', this.pick(OWN_NAMES), '/claims')],
      ['sources', 'PUT', '/v1/sources/red-source-1'],
      ['registries', 'PUT', '/v1/registries/red-1'],
      ['reader', 'POST', '/v1/access/explain'],
      ['reader', 'POST', '/registry/shared/mcp'],
    ]);
    const quoted = (length: number) => JSON.stringify({ x: 'x'.repeat(length - '{"x":""}'.length) });
    const [body, more] = random.weigh<readonly [string | Buffer, Headers]>([
      [2, [quoted(this.near(1_200_000)), {}]],
      [2, [quoted(this.near(64 * KIB)), {}]],
      [1, ['['.repeat(this.near(128)) + ']'.repeat(128), {}]],
      [1, ['{"a":'.repeat(200_000), {}]],
      [1, [Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]), {}]],
      [1, ['{"server":"\\u0000\\ud800"}', {}]],
      [1, ['{"a":1,"a":2,"__proto__":{"b":1}}', {}]],
      [1, [gzipSync(quoted(this.near(1_200_000))), { 'Content-Encoding': 'gzip' }]],
      [1, [gzipSync(Buffer.alloc(20 * MIB)), { 'Content-Encoding': 'gzip' }]],
      [1, [`[${'0,'.repeat(this.near(400_000))}0]`, {}]],
      [1, [`{${Array.from({ length: 50_000 }, (_, index) => `"${index}":0`).join()}}`, {}]],
    ]);
    return { by, method, path, body, headers: { 'Content-Type': 'application/json', ...more } };
  }

  private malformed(): TenantRequest {
    const { path, method = 'GET', headers, body } = this.pick(MALFORMED);
    const onOwn = path.replace('/registry/main', '/registry/shared');
    return {
      by: this.pick(TENANT_ROLES),
      method,
      path: onOwn,
      ...(headers === undefined ? {} : { headers }),
      ...(body === undefined ? {} : { body }),
    };
  }
}

function aPackage(index: number): Document {
  return { registryType: 'npm', identifier: `red-${index}`, version: '1.0.0', transport: { type: 'stdio' } };
}

function nested(levels: number): unknown {
  let value: unknown = 0;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}
