import { expect, it } from 'vitest';
import { LoadsOf } from '../../dist/auth/route.js';
import { itemsFor } from '../support/admission.js';
import { aServer, aSkill } from '../support/documents.js';
import { allHandlers } from '../support/routes.js';
import { aService } from '../support/service.js';

const NAME = 'com.acme/payments-secret';

const service = aService()
  .source('mirror', {
    servers: [aServer('com.acme/open'), aServer(NAME)],
    skills: [aSkill('com.acme/secret-skill')],
    admission: { rules: [{ names: ['*secret*'], action: 'hold' }] },
  })
  .registry('main', {
    sources: ['mirror'],
    marketplace: { name: 'main', owner: 'Acme' },
  })
  .runs();

const SERVER = encodeURIComponent(NAME);
const MCP = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });

/**
 * Reads of the consumer API with their possible responses; deny-lists and allow-lists read versions that blocks hold.
 */
const READS: readonly (readonly [path: string, body?: object])[] = [
  ['v0.1/servers'],
  ['v0.1/servers?search=secret'],
  ['v0.1/servers?updated_since=2020-01-01T00:00:00Z'],
  ['v0.1/servers?include_deleted=true&version=latest'],
  [`v0.1/servers/${SERVER}/versions`],
  [`v0.1/servers/${SERVER}/versions/latest`],
  [`v0.1/servers/${SERVER}/versions/1.0.0`],
  ...['skills', 'plugins'].flatMap((type) =>
    [
      '',
      '/com.acme/secret-skill',
      '/com.acme/secret-skill/versions',
      '/com.acme/secret-skill/versions/1.0.0',
    ].map((rest): [string] => [`v0.1/x/dev.toolhive/${type}${rest}`]),
  ),
  ['v0.1/x/client-config?client=vscode&form=servers'],
  ['v0.1/x/search?q=secret'],
  [`v0.1/x/setup/${SERVER}/versions/1.0.0`],
  ['x/feed.atom'],
  ['x/content/skill/com.acme/secret-skill/1.0.0.zip'],
  ['x/content/skill/com.acme/secret-skill/1.0.0/files'],
  ['x/content/skill/com.acme/secret-skill/1.0.0/members'],
  [`v0.1/x/icon/server/${SERVER}`],
  ['x/marketplace.json'],
  ['x/marketplace/skill/com.acme/secret-skill/1.0.0.zip'],
  ['git/marketplace.git/info/refs?service=git-upload-pack'],
  ['mcp', MCP('tools/call', { name: 'search_servers', arguments: { query: 'secret' } })],
  ['mcp', MCP('resources/list', {})],
];
/** Registry routes that write, or read nothing from the catalog. */
const OTHERS = /^(PUT|PATCH|DELETE) |\/(publish|validate|git-upload-pack)$/;

it('no read of the consumer API or of entries shows held versions or reads their table', async () => {
  expect(await itemsFor(service)).toHaveLength(2);
  // A statement that reads the table would fail.
  await service.database.query(`alter table admission_item rename to admission_item_hidden`);
  try {
    for (const [path, body] of [
      ...READS.map(([path, ...rest]) => [`/registry/main/${path}`, ...rest] as const),
      ...['/registry', '/v1/sources/mirror/entries', '/v1/registries/main/entries'].map(
        (path) => [path] as const,
      ),
      ...['/v1/registries/main/access', '/v1/entries'].map((path) => [path] as const),
      ['/v1/access/preview', { as: { claims: {} }, registry: 'main' }] as const,
    ]) {
      const reply = body ? await service.post(path, body) : await service.get(path);
      expect([path, reply.status === 200 || reply.status === 404]).toEqual([path, true]);
      if (reply.status === 200 && !body) expect(reply.text).not.toContain('secret"');
      expect(reply.text).not.toContain(NAME);
    }
  } finally {
    await service.database.query(`alter table admission_item_hidden rename to admission_item`);
  }
  const { status, text } = await service.get(
    '/registry/main/v0.1/x/client-config?client=vscode&form=allowlist',
  );
  expect([status, text.includes(NAME)]).toEqual([200, false]);
  expect(await itemsFor(service)).toHaveLength(2);
});

it('the test above covers every read of a registry', async () => {
  const templates = (await allHandlers())
    .filter((handler) => handler.says(LoadsOf) === 'view')
    .flatMap(({ routes }) => routes)
    .filter((route) => !OTHERS.test(route));
  expect(templates.length).toBeGreaterThan(20);
  const paths = READS.map(([path, body]) => `${body ? 'POST' : 'GET'} /${path.replace(/\?.*/, '')}`);
  const isRead = (template: string) => {
    const own = template.replace('/registry/{registry}', '');
    // The older spellings of a path lead to the same handler.
    const pattern = own
      .replace(/(GET|POST) (\/v0(\.1)?)?\//, '$1 (/v0\\.1)?/')
      .replaceAll(/\{\w+\}/g, '[^/]+');
    return paths.some((path) => new RegExp(`^${pattern}$`).test(path));
  };
  expect(templates.filter((template) => !isRead(template))).toEqual([]);
});
