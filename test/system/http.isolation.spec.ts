import { expect, it } from 'vitest';
import { encodeCursor } from '../../dist/http/lists.js';
import { unlessBusy } from '../support/answers.js';
import { auditOf } from '../support/audit.js';
import {
  ACME_ADMIN,
  ACME_DATA,
  ACME_PLATFORM,
  ACME_WRITER,
  CONTOSO_READER,
  SUPER_ADMIN,
} from '../support/callers.js';
import { aServer, aSkill, type Document } from '../support/documents.js';
import { call, type Headers, type Reply } from '../support/http.js';
import { LIST, MALFORMED, MALFORMED_BYTES } from '../support/malformed-requests.js';
import { toolCall } from '../support/mcp.js';
import { sendRaw } from '../support/raw.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const CLAIMS = { org: 'acme' };
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'].map((letter) => `io.acme/${letter}`);
const SKILLS = '/registry/main/v0.1/x/dev.toolhive/skills';
/** Number of mangled requests sent concurrently, along with all valid ones. */
const AT_ONCE = 75;

const service = aService({ mode: 'full' })
  .source('tools', {
    servers: NAMES.flatMap((name) => [aServer(name, '1.0.0'), aServer(name, '2.0.0')]),
    skills: [aSkill('io.acme/review')],
    claims: CLAIMS,
  })
  .source('published', { kind: 'managed', claims: CLAIMS })
  .registry('main', { sources: ['tools', 'published'], claims: CLAIMS, publishClaims: CLAIMS })
  .configuration({ audit: { reads: true }, limits: { searchesPerCaller: 1_000 } })
  .runs();

interface Question {
  readonly caller: Document;
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Headers;
}

/** Claims of a valid request; the last ones are refused by the gate. */
const CALLERS = [ACME_DATA, ACME_PLATFORM, ACME_ADMIN, SUPER_ADMIN, CONTOSO_READER];
const VALID: readonly Question[] = CALLERS.flatMap((caller) => [
  ...NAMES.map((name) => ({ caller, path: `${LIST}/${encodeURIComponent(name)}/versions/latest` })),
  { caller, path: `${LIST}/${encodeURIComponent('io.acme/a')}/versions/1.0.0` },
  { caller, path: `${LIST}/${encodeURIComponent('io.acme/a')}/versions/3.0.0` },
  { caller, path: `${LIST}/${encodeURIComponent('io.acme/a')}/versions` },
  { caller, path: `${LIST}?search=acme&limit=3` },
  { caller, path: `${SKILLS}/io.acme/review` },
  { caller, path: '/registry' },
  { caller, path: '/v1/sources' },
  { caller, method: 'POST', path: '/registry/main/mcp', body: toolCall('get_server', { name: 'io.acme/a' }) },
  {
    caller,
    method: 'POST',
    path: '/v1/access/explain',
    body: { registry: 'main', entry: { type: 'server', name: 'io.acme/a' } },
  },
]);

/** Texts that PostgreSQL cannot hold, or that a statement or cache could mistake for something else. */
const TEXTS = [
  '\0',
  'a\0b',
  '\ud800',
  '\udfff\ud800',
  'x'.repeat(9_000),
  '{"a",NULL}',
  '\\',
  "'; --",
  '\u202e',
  '__proto__',
];
/** Not all texts can be sent in a path. */
const PATHS = [
  '%00',
  'a%00b',
  'io.acme%2Fa%00',
  'x'.repeat(5_000),
  '%7B%22a%22,NULL%7D',
  '%5C',
  "'",
  '__proto__',
  '%E2%80%AE',
];
const PLACES: readonly ((bad: string) => string)[] = [
  (bad) => `/registry/${bad}/v0.1/servers`,
  (bad) => `/registry/${bad}/mcp`,
  (bad) => `${LIST}/${bad}/versions`,
  (bad) => `${LIST}/${bad}/versions/latest`,
  (bad) => `${LIST}/${encodeURIComponent('io.acme/a')}/versions/${bad}`,
  (bad) => `${LIST}/${encodeURIComponent('io.acme/b')}/versions/${bad}?include_deleted=true`,
  (bad) => `${SKILLS}/${bad}/review`,
  (bad) => `${SKILLS}/io.acme/${bad}`,
  (bad) => `${SKILLS}/io.acme/review/versions/${bad}`,
  (bad) => `${LIST}?search=${bad}`,
  (bad) => `${LIST}?version=${bad}`,
  (bad) => `${LIST}?cursor=${bad}`,
  (bad) => `/v1/sources/${bad}`,
  (bad) => `/v1/registries/${bad}/entries`,
  (bad) => `/v1/entries/server/${bad}/versions/1.0.0`,
  (bad) => `/v1/entries/server/${encodeURIComponent('io.acme/a')}/versions/${bad}`,
  (bad) => `/v1/audit?target=${bad}`,
  (bad) => `/v1/audit?actor=${bad}`,
];

function cursors(text: string): string[] {
  const after = { name: text, key: text };
  return [
    `${LIST}?cursor=${encodeCursor('servers', { filter: {}, limit: 3, after })}`,
    `${LIST}?cursor=${encodeCursor('servers', { filter: { search: text, version: text, status: text }, limit: 3, after })}`,
    `${LIST}/${encodeURIComponent('io.acme/a')}/versions?cursor=${encodeCursor('versions', { name: 'io.acme/a', includeDeleted: false, after: text })}`,
    `/v1/sources/tools/entries?cursor=${encodeCursor('source-entries', { after: { name: text, type: 'server', rank: 1 }, limit: 3 })}`,
    `/v1/sources?cursor=${encodeCursor('sources', { after: text, limit: 3 })}`,
  ];
}

function bodies(text: string): Question[] {
  const entry = { type: 'server', name: text, version: text };
  const as = { claims: { sub: text, org: ['acme', text], [text]: text } };
  const posts: [string, unknown][] = [
    ['/v1/access/explain', { registry: text, entry, as }],
    ['/v1/access/explain', { registry: 'main', entry, action: 'publish', claims: { [text]: text } }],
    ['/v1/access/explain', { registry: 'main', as }],
    ['/v1/access/preview', { registry: 'main', as }],
    ['/v1/access/preview', { registry: text, as }],
    [
      '/v1/entries/validate',
      { server: { ...aServer('io.acme/new'), version: text, title: text }, claims: { org: text } },
    ],
    ['/registry/main/v0.1/validate', aServer(text, text)],
    ['/registry/main/mcp', toolCall('get_server', { name: text })],
    ['/registry/main/mcp', toolCall('get_server', { name: 'io.acme/a', version: text })],
    ['/registry/main/mcp', toolCall('get_skill', { namespace: text, name: text, version: text })],
    ['/registry/main/mcp', toolCall('how_to_connect', { name: text, version: text })],
    ['/registry/main/mcp', toolCall('search_servers', { query: text, cursor: text })],
    ['/registry/main/mcp', toolCall(text, { [text]: text })],
  ];
  return posts.map(([path, body]) => ({ caller: SUPER_ADMIN, method: 'POST', path, body }));
}

/** The claims of a token reach the caches of views, and the events of the audit trail. */
function tokens(text: string): Question[] {
  const claims = { sub: text, client_id: text, org: ['acme', text], team: text, role: text, [text]: text };
  return [
    { caller: claims, path: LIST },
    { caller: claims, path: `${LIST}/${encodeURIComponent('io.acme/a')}/versions/latest` },
    { caller: claims, path: '/v1/sources' },
    { caller: { ...claims, org: text }, path: LIST },
    { caller: { ...claims, role: 'admin' }, path: '/v1/sources/none' },
  ];
}

const HEADERS: readonly Headers[] = [
  { 'X-Request-Id': '\u00ff'.repeat(8) },
  { 'X-Request-Id': 'a'.repeat(65) },
  { 'User-Agent': '\u00ff\u0080' },
  { traceparent: '00-00000000000000000000000000000000-0000000000000000-00' },
  { 'If-None-Match': '"\u00ff' },
  { 'Accept-Encoding': 'gzip;q=NaN' },
  { Accept: '\u00ff' },
];

const MANGLED: readonly Question[] = [
  ...PATHS.flatMap((bad) => PLACES.map((place) => ({ caller: SUPER_ADMIN, path: place(bad) }))),
  // These look up the latest version next, often in the same statement as the valid requests.
  ...CALLERS.flatMap((caller) =>
    NAMES.flatMap((name) =>
      ['%00', '1%00', '%00?include_deleted=true'].map((version) => ({
        caller,
        path: `${LIST}/${encodeURIComponent(name)}/versions/${version}`,
      })),
    ),
  ),
  ...TEXTS.flatMap((text) => cursors(text).map((path) => ({ caller: SUPER_ADMIN, path }))),
  ...TEXTS.flatMap(bodies),
  ...TEXTS.flatMap(tokens),
  ...HEADERS.flatMap((headers) =>
    [LIST, '/v1/sources/none'].map((path) => ({ caller: ACME_DATA, path, headers })),
  ),
  ...MALFORMED.map(({ path, method, headers, body }) => ({
    caller: ACME_WRITER,
    path,
    ...(method === undefined ? {} : { method }),
    ...(headers === undefined ? {} : { headers }),
    ...(body === undefined ? {} : { body }),
  })),
];

const ask = ({ caller, method = 'GET', path, body, headers = {} }: Question): Promise<Reply> =>
  service.as(caller).send(method, path, { headers, ...(body === undefined ? {} : { body }) });
const outcome = ({ status, text }: Reply) => `${status} ${text.replace(/"requestId":"[^"]*"/, '')}`;

it('mangled requests do not change the responses to concurrent valid requests', async () => {
  expect((await service.synced('tools')).status).toBe('complete');
  const alone: string[] = [];
  for (const question of VALID) alone.push(outcome(await unlessBusy(() => ask(question))));
  expect(new Set(alone.map((text) => text.slice(0, 3)))).toEqual(new Set(['200', '403', '404']));
  const refused: Reply[] = [];
  for (let from = 0; from < MANGLED.length; from += AT_ONCE) {
    // Cached pages would not need the database.
    await service.database.query(`update source set revision = revision + 1`);
    const mangled = MANGLED.slice(from, from + AT_ONCE);
    const replies: Promise<Reply>[] = [];
    const beside: Promise<Reply>[] = [];
    for (const [index, question] of VALID.entries()) {
      const next = mangled[index];
      if (next) replies.push(ask(next));
      beside.push(unlessBusy(() => ask(question)));
    }
    const [, bytes] = MALFORMED_BYTES[(from / AT_ONCE) % MALFORMED_BYTES.length] ?? [];
    const raw = bytes === undefined ? undefined : sendRaw(service.port, bytes);
    for (const [index, reply] of (await Promise.all(beside)).entries()) {
      expect(outcome(reply), JSON.stringify(VALID[index])).toBe(alone[index]);
      if (reply.status === 403) refused.push(reply);
    }
    for (const [index, { status, text }] of (await Promise.all(replies)).entries())
      expect(status === 500 ? text : '', JSON.stringify(mangled[index])).toBe('');
    await raw;
  }
  // Refusals of valid requests are recorded in the same batches as those of mangled ones.
  await within(20_000, async () => {
    const recorded = new Set(
      (await auditOf(service.as(SUPER_ADMIN), 'outcome=refused')).map((event) => event.requestId),
    );
    for (const { headers } of refused.slice(-100)) expect(recorded).toContain(headers['x-request-id']);
  });
  const { text: metrics } = await call(`${service.internalOrigin}/metrics`);
  expect(metrics).toMatch(/^registry_audit_events_dropped_total 0$/m);
  // A slow machine may refuse some mangled requests as overloaded.
  expect(service.logs().filter(({ level, status }) => level === 'error' && status !== 503)).toEqual([]);
});
