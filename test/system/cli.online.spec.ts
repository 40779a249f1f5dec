import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { check } from '../../dist/cli/check.js';
import { Cli, printed } from '../support/cli.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { aGitServer } from '../support/git-server.js';
import { anIssuer } from '../support/issuer.js';
import { aCluster } from '../support/kubernetes-api.js';
import { keepSecret } from '../support/secrets.js';
import { anUpstreamRegistry } from '../support/upstream-registry.js';
import { within } from '../support/within.js';

const SECRET = keepSecret('correct-horse-battery-staple');

const folder = aFolder();
const path = (name: string) => join(folder.path, name);
const issuer = anIssuer({ client: { id: 'registry', secret: SECRET } }).runs();
const git = aGitServer().runs();
const upstream = anUpstreamRegistry().runs();
const cluster = aCluster().runs();
let database: TestDatabase;
/** Factor for all timeouts, which a busy machine may exceed; 1 in the test that waits for one. */
let patience = 20;

beforeAll(async () => {
  database = await aDatabase();
  const catalogue = JSON.stringify(aCatalogue([aServer('io.acme/deploy')]));
  writeFileSync(path('local.json'), catalogue);
  writeFileSync(path('client.secret'), SECRET);
  writeFileSync(path('wrong.secret'), keepSecret('not-the-secret-at-all'));
  await git.repository('acme').commit({ 'registry.json': catalogue });
  vi.stubEnv('KUBECONFIG', cluster.kubeconfig);
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout(ms * patience));
});

afterAll(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await database.drop();
});

afterEach(() => {
  issuer.behave();
  upstream.reset();
});

interface Changes {
  readonly provider?: Record<string, unknown>;
  readonly more?: readonly Record<string, unknown>[];
  readonly sources?: Record<string, Record<string, unknown>>;
  readonly database?: Record<string, unknown>;
  /** `content.fetch.hosts` */
  readonly hosts?: readonly string[];
}

function configure({ provider, more = [], sources = {}, database: connection, hosts }: Changes): string {
  const kinds: Record<string, Record<string, unknown>> = {
    local: { file: { path: 'local.json' } },
    fetched: { file: { url: `${upstream.url}/v0.1/servers` } },
    mirror: { api: { endpoint: upstream.url } },
    repository: { git: { repository: git.url('acme'), branch: 'main' } },
    cluster: { kubernetes: {} },
    published: { managed: {} },
    ...sources,
  };
  const configuration = {
    auth: {
      oauth: {
        resourceUrl: 'https://registry.example.com',
        providers: [
          {
            name: 'corporate',
            issuerUrl: issuer.url,
            audience: 'registry',
            introspectionUrl: issuer.introspectionUrl,
            clientId: 'registry',
            clientSecretFile: 'client.secret',
            groups: { from: 'userinfo' },
            allowPrivateIP: true,
            ...provider,
          },
          ...more,
        ],
      },
    },
    sources: Object.entries(kinds).map(([name, kind]) => ({
      name,
      ...kind,
      ...('managed' in kind || 'kubernetes' in kind ? {} : { syncPolicy: { interval: '1h' } }),
    })),
    database: { ...database.connection, ...connection },
    ...(hosts ? { content: { fetch: { hosts } } } : {}),
  };
  writeFileSync(path('registry.yaml'), stringify(configuration));
  return path('registry.yaml');
}

async function online(changes: Changes) {
  const { code, output } = await printed(() => check(configure(changes), {}, { online: true }));
  const contacts = output
    .split('\n')
    .filter((line) => /^(provider|database|source|content host) ?\S*: (ok|FAILED)/.test(line));
  return { code, output, contacts, failed: contacts.filter((line) => line.includes(': FAILED')) };
}

describe('check --online (reference/commands)', () => {
  it('contacts the providers, the database and the host of each source, and exits with 0', async () => {
    // A connection to PostgreSQL must open within 4 s, while the check loads its modules.
    await within(20_000, async () => {
      const { code, contacts } = await online({});
      expect(contacts).toEqual([
        'provider corporate: ok (1 key, introspection, groups)',
        expect.stringMatching(/^database: ok \("t_\w+" at \S+\)$/),
        `source local: ok (${path('local.json')}: registry, 1 entry)`,
        `source fetched: ok (${upstream.url}/v0.1/servers: servers, 0 entries)`,
        `source mirror: ok (${upstream.url}/v0.1/servers)`,
        `source repository: ok (${git.url('acme')}: registry, 1 entry)`,
        'source cluster: ok (the cluster)',
        'source published: ok (managed; it has no host)',
      ]);
      expect(code).toBe(0);
    });
  });

  it('reports skipped entries', async () => {
    const servers = [
      aServer('io.acme/a'),
      ...['b', 'c', 'd', 'e'].map((name) => aServer(`io.acme/${name}`, '^1')),
    ];
    writeFileSync(path('list.json'), JSON.stringify(servers));
    const { code, contacts } = await online({ sources: { local: { file: { path: 'list.json' } } } });
    expect(contacts).toContainEqual(
      expect.stringMatching(
        /^source local: ok \(.*list\.json: servers, 1 entry, 4 skipped: io\.acme\/b \^1 \(version: .*\); io\.acme\/c .*; io\.acme\/d \^1 \([^()]*\)\)$/,
      ),
    );
    expect(code).toBe(0);
  });

  it('contacts the hosts of content.fetch.hosts', async () => {
    const reached = `127.0.0.1:${git.port}`;
    const { code, contacts } = await online({ hosts: [reached, '127.0.0.1:1'] });
    expect(contacts.slice(-2)).toEqual([
      `content host ${reached}: ok (http://${reached}/)`,
      expect.stringMatching(/^content host 127\.0\.0\.1:1: FAILED \(.*ECONNREFUSED/),
    ]);
    expect(code).toBe(1);
  });

  it.each<[what: string, changes: () => Changes, line: RegExp]>([
    [
      'the client secret is wrong',
      () => ({ provider: { clientSecretFile: 'wrong.secret' } }),
      /^provider corporate: FAILED \(\S+\/introspect: .*status 401; check clientId and clientSecretFile\)$/,
    ],
    [
      'the provider is at a private address',
      () => ({ provider: { allowPrivateIP: false } }),
      /^provider corporate: FAILED \(.*private address.*; set allowPrivateIP: true if this is intended\)$/,
    ],
    [
      'the discovery document names another issuer',
      () => {
        issuer.injectFault('discovery', 'wrong-issuer');
        return {};
      },
      /^provider corporate: FAILED \(.*its issuer is .*; correct issuerUrl\)$/,
    ],
    [
      'the provider has no keys',
      () => {
        issuer.injectFault('jwks', { answer: { keys: [] } });
        return {};
      },
      /^provider corporate: FAILED \(the key set has no usable key; check jwksUrl\)$/,
    ],
    [
      'nothing listens at the address of the provider',
      () => ({ provider: { issuerUrl: 'http://127.0.0.1:9' } }),
      /^provider corporate: FAILED \(http:\/\/127\.0\.0\.1:9\/.*; check the host, the network and the proxy settings\)$/,
    ],
    [
      'the database does not exist',
      () => ({ database: { database: 'nowhere' } }),
      /^database: FAILED \(The database "nowhere" at .*does not exist.*\)$/,
    ],
    [
      'a file is missing',
      () => ({ sources: { local: { file: { path: 'missing.json' } } } }),
      /^source local: FAILED \(.*missing\.json could not be opened: .*\)$/,
    ],
    [
      'a file fits no format',
      () => {
        writeFileSync(path('mcp.json'), JSON.stringify({ mcpServers: { a: { command: 'npx' } } }));
        return { sources: { local: { file: { path: 'mcp.json' } } } };
      },
      /^source local: FAILED \(The file is the configuration of a client/,
    ],
    [
      'a registry is not at the endpoint',
      () => ({ sources: { mirror: { api: { endpoint: issuer.url } } } }),
      /^source mirror: FAILED \(.*status 404; check the address\)$/,
    ],
    [
      'a branch does not exist',
      () => ({ sources: { repository: { git: { repository: git.url('acme'), branch: 'none' } } } }),
      /^source repository: FAILED \(.*there is no branch none.*\)$/,
    ],
  ])('exits with 1 and gives advice if %s', async (_what, changes, line) => {
    const { code, failed } = await online(changes());
    expect(failed).toEqual([expect.stringMatching(line)]);
    expect(code).toBe(1);
  });

  it('exits with 1 if the cluster refuses the token', async () => {
    const { token } = cluster;
    cluster.token = keepSecret('another-token');
    const { code, failed } = await online({});
    cluster.token = token;
    expect(failed).toEqual([expect.stringMatching(/^source cluster: FAILED \(The API server refused .*401/)]);
    expect(code).toBe(1);
  });

  it('waits for a silent provider for a limited time, and still reports the others', async () => {
    issuer.injectFault('jwks', 'hang');
    patience = 1;
    const { code, contacts, failed } = await online({});
    patience = 20;
    expect(failed).toContainEqual(
      expect.stringMatching(/^provider corporate: FAILED \(.*no complete response within 5 s/),
    );
    expect(contacts).toHaveLength(8);
    expect(code).toBe(1);
  });

  it('prints no secret', async () => {
    const { output } = await online({ provider: { clientSecretFile: 'wrong.secret' } });
    for (const secret of [SECRET, 'not-the-secret-at-all', cluster.token])
      expect(output).not.toContain(secret);
  });

  it('sends no requests without the option', async () => {
    const before = issuer.requests.length;
    await printed(() => check(configure({}), {}));
    expect(issuer.requests).toHaveLength(before);
  });
});

it('the server logs at startup whether each identity provider can be used, and is ready anyway (reference/commands)', async () => {
  const broken = {
    name: 'broken',
    issuerUrl: 'http://127.0.0.1:9',
    audience: 'registry',
    allowPrivateIP: true,
  };
  const sources = { cluster: { managed: {} }, published: { file: { path: 'local.json' } } };
  const cli = Cli.serve(configure({ more: [broken], sources }));
  try {
    await cli.logs('Identity provider corporate: ok (1 key, introspection, groups)');
    await cli.logs('Identity provider broken: cannot be used (');
    expect((await fetch(`${await cli.origin()}/.well-known/oauth-protected-resource`)).status).toBe(200);
    expect(cli.output).not.toContain(SECRET);
  } finally {
    cli.child.kill('SIGTERM');
    await cli.finished;
  }
});
