import type { Reply, Sender } from './http.js';
import { toolCall } from './mcp.js';
import { aPublication } from './publishing.js';

/** A managed entry that the tests delete. */
export const GONE = 'io.acme/gone';
/** A managed entry that stays. */
export const KEPT = 'io.acme/kept';

const MAIN = '/registry/main';
export const SERVERS = `${MAIN}/v0.1/servers`;
const encoded = encodeURIComponent(KEPT);

/** One request for each kind of answer that comes from the database. */
export const REQUESTS: Record<string, (sender: Sender) => Promise<Reply>> = Object.fromEntries(
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
    'client configuration': `${MAIN}/x/client-config?client=cursor`,
    'ranked search': `${MAIN}/x/search?q=gone`,
    sources: '/v1/sources',
    source: '/v1/sources/made',
    'entries of a source': '/v1/sources/made/entries',
    'registries of the admin API': '/v1/registries',
    registry: '/v1/registries/main',
    'entries of a registry': '/v1/registries/main/entries',
    'who reads a registry': '/v1/registries/main/access',
    'managed entries': '/v1/entries',
    'managed entry': `/v1/entries/server/${encoded}`,
    claims: `/v1/entries/server/${encoded}/claims`,
    'who reads an entry': `/v1/entries/server/${encoded}/access`,
    audit: '/v1/audit?limit=1&action=entry.delete',
  }).map(([name, path]) => [name, (sender: Sender) => sender.get(path)]),
);
REQUESTS['validator'] = (sender) => sender.get(SERVERS, { 'If-None-Match': '*' });
REQUESTS['MCP search'] = (sender) =>
  sender.post(`${MAIN}/mcp`, toolCall('search_servers', { query: 'gone' }));
REQUESTS['MCP entry'] = (sender) => sender.post(`${MAIN}/mcp`, toolCall('get_server', { name: GONE }));
REQUESTS['explain'] = (sender) =>
  sender.post('/v1/access/explain', { registry: 'main', entry: { type: 'server', name: GONE } });
REQUESTS['preview'] = (sender) =>
  sender.post('/v1/access/preview', { registry: 'main', as: { claims: { org: 'acme' } } });
REQUESTS['dry run'] = (sender) => sender.post('/v1/entries?dry_run=true', aPublication('server', KEPT, {}));
REQUESTS['publication'] = (sender) => sender.post('/v1/entries', aPublication('server', KEPT, {}));

/** The answer to each request, by its name. */
export async function answersTo(sender: Sender): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [name, send] of Object.entries(REQUESTS)) found[name] = answerOf(await send(sender));
  return found;
}

/** Status and body, without what differs between equal requests. */
export function answerOf({ status, text }: Reply): string {
  return `${status} ${text.replaceAll(/"requestId":"[^"]*"/g, '')}`;
}
