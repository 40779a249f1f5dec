import { aSkillFile, aZip } from './archives.js';
import { aServer, aSkill } from './documents.js';
import type { Folder } from './folder.js';
import { type Reply, Sender } from './http.js';
import { toolCall } from './mcp.js';
import { aPublication, entryAt } from './publishing.js';
import { aWebhookSecret } from './receiver.js';
import { allHandlers } from './routes.js';
import { aService, type ServiceUnderTest } from './service.js';

/** A managed entry that the tests delete. */
export const GONE = 'io.acme/gone';
/** A managed entry that stays. */
export const KEPT = 'io.acme/kept';
/** A managed skill with files. */
const FILED = 'io.acme/filed';

const MAIN = '/registry/main';
export const SERVERS = `${MAIN}/v0.1/servers`;
const encoded = encodeURIComponent(KEPT);
const UNKNOWN_ID = '01900000-0000-7000-8000-000000000000';

/** A service with data for every route. */
export function aServiceOfAllRoutes(folder: Folder): ServiceUnderTest {
  return aService({ mode: 'full' })
    .source('tools', {
      servers: [aServer('io.acme/tool'), aServer('io.acme/held')],
      skills: [aSkill('io.acme/skill')],
      plugins: [aSkill('io.acme/plugin')],
      admission: { rules: [{ names: ['*/held'], action: 'hold' }] },
    })
    .source('made', { kind: 'managed' })
    .registry('main', { sources: ['tools', 'made'], marketplace: { name: 'acme', owner: 'Acme' } })
    .configuration({
      webhooks: [
        {
          name: 'siem',
          url: 'http://127.0.0.1:9/',
          secretFile: folder.write('webhook', aWebhookSecret()),
          actions: ['block.delete'],
        },
      ],
    });
}

/** Publishes the resources that the requests are about. */
export async function publishAll(admin: Sender): Promise<void> {
  const skill = aSkill(FILED);
  const body = aZip([{ name: 'SKILL.md', data: aSkillFile('filed', String(skill['description'])) }]);
  for (const publication of [
    aPublication('server', GONE, {}),
    aPublication('server', KEPT, {}),
    aPublication('skill', FILED, {}),
  ]) {
    const { status, text } = await admin.post('/v1/entries', publication);
    if (status !== 201) throw new Error(text);
  }
  const at = entryAt('skill', FILED, '/versions/1.0.0/content');
  const { status, text } = await admin.send('PUT', at, {
    body,
    headers: { 'Content-Type': 'application/zip' },
  });
  if (status >= 300) throw new Error(text);
}

type Send = (sender: Sender) => Promise<Reply>;

/** One request for each kind of response that comes from the database. */
export const REQUESTS: Record<string, Send> = Object.fromEntries(
  Object.entries({
    registries: '/registry',
    list: SERVERS,
    'list of v0': `${MAIN}/v0/servers?limit=7`,
    'list by search': `${SERVERS}?search=gone`,
    'list by date': `${SERVERS}?updated_since=2020-01-01T00:00:00Z`,
    versions: `${SERVERS}/${encoded}/versions`,
    version: `${SERVERS}/${encoded}/versions/latest`,
    'deleted entry': `${SERVERS}/${encodeURIComponent(GONE)}/versions/latest`,
    skills: `${MAIN}/v0.1/x/dev.toolhive/skills`,
    skill: `${MAIN}/v0.1/x/dev.toolhive/skills/io.acme/skill`,
    'versions of a skill': `${MAIN}/v0.1/x/dev.toolhive/skills/io.acme/skill/versions`,
    'version of a skill': `${MAIN}/v0.1/x/dev.toolhive/skills/io.acme/skill/versions/1.0.0`,
    plugins: `${MAIN}/v0.1/x/dev.toolhive/plugins`,
    plugin: `${MAIN}/v0.1/x/dev.toolhive/plugins/io.acme/plugin`,
    'versions of a plugin': `${MAIN}/v0.1/x/dev.toolhive/plugins/io.acme/plugin/versions`,
    'version of a plugin': `${MAIN}/v0.1/x/dev.toolhive/plugins/io.acme/plugin/versions/1.0.0`,
    'client configuration': `${MAIN}/x/client-config?client=cursor`,
    'plugins of a client': `${MAIN}/x/client-config?client=claude-code&form=plugins`,
    setup: `${MAIN}/x/setup/${encoded}/versions/latest`,
    'ranked search': `${MAIN}/x/search?q=gone`,
    feed: `${MAIN}/x/feed.atom`,
    content: `${MAIN}/x/content/skill/${FILED}/1.0.0.zip`,
    'files of a version': `${MAIN}/x/content/skill/${FILED}/1.0.0/files`,
    'members of a version': `${MAIN}/x/content/skill/${FILED}/1.0.0/members`,
    'archive of a plugin': `${MAIN}/x/marketplace/skill/${FILED}/1.0.0.zip`,
    icon: `${MAIN}/v0.1/x/icon/server/${encoded}`,
    marketplace: `${MAIN}/x/marketplace.json`,
    'repository of a marketplace': `${MAIN}/git/marketplace.git/info/refs?service=git-upload-pack`,
    sources: '/v1/sources',
    'kinds of sources': '/v1/source-kinds',
    source: '/v1/sources/made',
    'entries of a source': '/v1/sources/made/entries',
    'who sees a source': '/v1/sources/made/access',
    'registries of the admin API': '/v1/registries',
    registry: '/v1/registries/main',
    'entries of a registry': '/v1/registries/main/entries',
    'who reads a registry': '/v1/registries/main/access',
    'managed entries': '/v1/entries',
    'managed entry': `/v1/entries/server/${encoded}`,
    'managed version': `/v1/entries/server/${encoded}/versions/1.0.0`,
    claims: `/v1/entries/server/${encoded}/claims`,
    'who reads an entry': `/v1/entries/server/${encoded}/access`,
    'held versions': '/v1/admission',
    'held version': `/v1/admission/${UNKNOWN_ID}`,
    blocks: '/v1/blocks',
    block: '/v1/blocks/absent',
    webhooks: '/v1/webhooks',
    deliveries: '/v1/webhooks/siem/deliveries',
    audit: '/v1/audit?limit=1&action=entry.delete',
  }).map(([name, path]) => [name, (sender: Sender) => sender.get(path)]),
);
const mcp = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params });
for (const [name, path, body, headers] of [
  ['MCP search', `${MAIN}/mcp`, toolCall('search_servers', { query: 'gone' })],
  ['MCP entry', `${MAIN}/mcp`, toolCall('get_server', { name: GONE })],
  ['MCP skills', `${MAIN}/mcp`, mcp('resources/list')],
  ['MCP skill', `${MAIN}/mcp`, mcp('resources/read', { uri: `skill://${FILED}/SKILL.md` })],
  [
    'objects of a repository',
    `${MAIN}/git/marketplace.git/git-upload-pack`,
    '0014command=ls-refs\n0000',
    { 'Content-Type': 'application/x-git-upload-pack-request', 'Git-Protocol': 'version=2' },
  ],
  ['explain', '/v1/access/explain', { registry: 'main', entry: { type: 'server', name: GONE } }],
  ['preview', '/v1/access/preview', { registry: 'main', as: { claims: { org: 'acme' } } }],
  ['preview of a block', '/v1/blocks/preview', { names: [KEPT], reason: 'test' }],
  ['dry run', '/v1/entries?dry_run=true', aPublication('server', KEPT, {})],
  ['publication', '/v1/entries', aPublication('server', KEPT, {})],
] as const)
  REQUESTS[name] = (sender) => sender.post(path, body, headers);
REQUESTS['validator'] = (sender) => sender.get(SERVERS, { 'If-None-Match': '*' });

/** Routes that read but respond without the database. */
const WITHOUT_DATABASE = [
  'GET /',
  'GET /assets/{file}',
  'GET /config.json',
  'GET /logo',
  'GET /registry/{registry}',
  'GET /.well-known/oauth-protected-resource',
  'GET /.well-known/oauth-protected-resource/{path}',
  'GET /registry/{registry}/mcp',
  'GET /registry/{registry}/v0/health',
  'GET /v1/me',
];

/** GET routes that no request above covers. */
export async function uncoveredRoutes(): Promise<string[]> {
  const recorder = new Recorder();
  for (const send of Object.values(REQUESTS)) void send(recorder);
  const isCovered = (route: string) => {
    const pattern = new RegExp(`^${route.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/?]+')}(\\?|$)`);
    return recorder.sent.some((sent) => pattern.test(sent));
  };
  return (await allHandlers())
    .filter(({ routes }) => routes.every((route) => route.startsWith('GET ')))
    .filter(({ routes }) => !routes.some((route) => WITHOUT_DATABASE.includes(route) || isCovered(route)))
    .map(({ name }) => name);
}

class Recorder extends Sender {
  readonly sent: string[] = [];

  send(method: string, path: string): Promise<Reply> {
    this.sent.push(`${method} ${path}`);
    return Promise.resolve({} as Reply);
  }
}

/** The response to each request, by its name. */
export async function answersTo(sender: Sender): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [name, send] of Object.entries(REQUESTS)) found[name] = answerOf(await send(sender));
  return found;
}

/** Status and body, without what differs between equal requests. */
export function answerOf({ status, text }: Reply): string {
  return `${status} ${text.replaceAll(/"requestId":"[^"]*"/g, '')}`;
}
