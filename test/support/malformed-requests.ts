/** Requests that a service with a registry `main` refuses. */
export const LIST = '/registry/main/v0.1/servers';
const SKILLS = '/registry/main/v0.1/x/dev.toolhive/skills';
const ENCODINGS = ['%', '%z', '%zz', '%2', '%e0%a4%a', '%ff', '%c0%af', '%ed%a0%80', '%f8%88%80%80%80'];
const PLACES = [
  (bad: string) => `/registry/${bad}/v0.1/servers`,
  (bad: string) => `${LIST}/${bad}/versions`,
  (bad: string) => `${LIST}/io.acme%2Fa/versions/${bad}`,
  (bad: string) => `${SKILLS}/${bad}/name`,
  (bad: string) => `${SKILLS}/io.acme/${bad}`,
  (bad: string) => `/v1/sources/${bad}`,
];
const NOWHERE = [
  '/', '//', '/.', '/..', '/../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '/registry//', '/Registry', '/registry/main',
  '/registry/main/', '/registry/main/v0.1', '/registry/main/v0.1/', '/registry/main/v0.1/Servers', '/registry/main/V0.1/servers',
  '/registry/main/v0.1/servers//', '/registry/main/v0x1/servers', '/registry/main/v1/servers', '/registry/main/v0.1/servers/x',
  '/registry/main/v0.1/servers/x/versions/', '/registry/main/v0.1/servers/x/versions/1/2', '/registry/main/v0.1/x/',
  '/registry/main/v0.1/x/dev.toolhive/gadgets', '/registry//v0.1/servers', '/v1', '/v1/', '/v1/sources/', '/v1/sources/a/b',
  '/v1/nothing', '/health', '/readiness', '/version', '/metrics', '/favicon.ico', '/openapi.json/', '/.env', '/%00',
  '/registry/main/v0.1/servers;x=1', '/registry/main/v0.1/servers%3Flimit=1', '/\\..\\', "/'", '/<script>', '/%20',
  `/${'a'.repeat(7_000)}`, `/${'a/'.repeat(3_000)}`,
]; // oxfmt-ignore
const QUERIES = [
  'limit=0', 'limit=-1', 'limit=101', 'limit=1000000000', 'limit=99999999999999999999999999', 'limit=NaN', 'limit=Infinity',
  'limit=1.0', 'limit=1e2', 'limit=0x10', 'limit=+5', 'limit=%205', 'limit=5%20', 'limit=%00', 'limit=true', 'limit=null',
  'limit=1&limit=2', 'limit=%F0%9F%98%80', 'cursor=%00', 'cursor=!', 'cursor=a', 'cursor=AA==', 'cursor=../../etc', 'cursor=%ff',
  'cursor=W10', 'cursor=bnVsbA', 'cursor=a&cursor=b', 'search=%00', 'search=a%00b', 'search=a&search=b', 'updated_since=now',
  'updated_since=0', 'updated_since=-1', 'updated_since=2026', 'updated_since=2026-13-01T00:00:00Z',
  'updated_since=2026-01-32T00:00:00Z', 'updated_since=2026-01-01T24:00:00Z', 'updated_since=2026-01-01T00:60:00Z',
  'updated_since=2026-01-01T00:00:61Z', 'updated_since=0000-01-01T00:00:00Z', 'updated_since=2026-01-01T00:00:00',
  'updated_since=2026-01-01T00:00:00%2B25:00', 'updated_since=%00', 'updated_since=a&updated_since=b', 'version=%00',
  'version=a&version=b', 'include_deleted=1', 'include_deleted=yes', 'include_deleted=TRUE',
  'include_deleted=true&include_deleted=true', `version=${'1'.repeat(300)}`, `search=${'x'.repeat(600)}`,
]; // oxfmt-ignore
const ODD_METHODS = [
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'TRACE',
  'PROPFIND',
  'MKCOL',
  'LOCK',
  'SEARCH',
  'PURGE',
  'M-SEARCH',
  'LINK',
  'QUERY',
];
const METHOD_PATHS = ['/', '/registry', LIST, `${LIST}/io.acme%2Fa/versions/1.0.0`, SKILLS, '/v1/sources'];
const BODIES: [string, string, number][] = [
  ['application/json', '{', 400], ['application/json', '{"a":}', 400], ['application/json', '"text"', 400],
  ['application/json', 'nul', 400], ['application/json', '\u0000', 400], ['application/json', `${'['.repeat(50_000)}`, 400],
  ['application/json', '{"a":1}x', 400], ['application/json; charset=latin1', '{}', 415], ['application/json; charset=koi8', '{}', 415],
  ['application/json', '{}', 400], ['application/json', '', 400], ['text/plain', 'x', 415], ['application/xml', '<a/>', 415],
  ['multipart/form-data; boundary=x', '--x--', 415], ['nonsense', 'x', 415], ['application/json', JSON.stringify({ a: 'x'.repeat(2_000_000) }), 413],
]; // oxfmt-ignore

export interface MalformedRequest {
  name: string;
  path: string;
  status: number;
  code?: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** An unsupported write is 501 below a registry; elsewhere an unsupported method is 405. */
function statusOf(method: string, path: string): 405 | 501 {
  if (path.startsWith('/registry/') && ['POST', 'PUT', 'PATCH', 'DELETE'].includes(method)) return 501;
  return 405;
}

const short = (text: string) => (text.length > 60 ? `${text.slice(0, 57)}...` : text);
export const MALFORMED: readonly MalformedRequest[] = [
  ...PLACES.flatMap((place) =>
    ENCODINGS.map((bad) => ({
      name: `encoding ${place(bad)}`,
      path: place(bad),
      status: 400,
      code: 'malformed_path',
    })),
  ),
  ...PLACES.map((place) => ({ name: `NUL ${place('%00')}`, path: place('%00'), status: 404 })),
  ...PLACES.map((place) => ({
    name: `oversized ${short(place('a'))}`,
    path: place('a'.repeat(5_000)),
    status: 404,
  })),
  ...NOWHERE.map((path) => ({ name: `empty ${short(path)}`, path, status: 404 })),
  ...QUERIES.map((query) => ({ name: `servers?${short(query)}`, path: `${LIST}?${query}`, status: 400 })),
  ...QUERIES.filter((query) => /^(limit|cursor|search)/.test(query)).map((query) => ({
    name: `skills?${short(query)}`,
    path: `${SKILLS}?${query}`,
    status: 400,
  })),
  ...METHOD_PATHS.flatMap((path) =>
    ODD_METHODS.map((method) => ({
      name: `${method} ${short(path)}`,
      path,
      method,
      status: statusOf(method, path),
    })),
  ),
  ...BODIES.map(([type, body, status]) => ({
    name: `body ${type} ${short(body)}`,
    path: '/v1/sources/made',
    method: 'PUT',
    headers: { 'Content-Type': type, 'Content-Length': String(Buffer.byteLength(body)) },
    body,
    status,
  })),
  ...['gzip', 'br', 'nonsense'].map((encoding) => ({
    name: `encoded body ${encoding}`,
    path: '/v1/sources/made',
    method: 'PUT',
    headers: { 'Content-Type': 'application/json', 'Content-Encoding': encoding, 'Content-Length': '2' },
    body: '{}',
    status: encoding === 'nonsense' ? 415 : 400,
    code: encoding === 'nonsense' ? 'unsupported_media_type' : 'malformed_body',
  })),
];

/** A name, the bytes to send, and the status of the response. */
export const MALFORMED_BYTES: readonly [string, string, number][] = [
  ['not HTTP', 'hello\r\n\r\n', 400],
  ['TLS ClientHello', '\x16\x03\x01\x02\x00\x01\x00', 400],
  ['missing Host', 'GET / HTTP/1.1\r\n\r\n', 400],
  ['duplicate Host', 'GET /registry HTTP/1.1\r\nHost: localhost\r\nhost: other.example\r\n\r\n', 400],
  ['invalid HTTP version', 'GET / HTTP/9.9\r\nHost: localhost\r\n\r\n', 400],
  ['space in the path', 'GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
  ['control character in a header', 'GET / HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n', 400],
  [
    'duplicate Content-Length',
    'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    400,
  ],
  [
    'Content-Length with chunked encoding',
    'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    400,
  ],
  [
    'invalid chunk',
    'PUT /v1/sources/made HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    400,
  ],
  [
    '100 kB of headers',
    `GET /registry HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${'x'.repeat(100_000)}\r\n\r\n`,
    431,
  ],
  ['100 kB path', `GET /${'x'.repeat(100_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 431],
  ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n', 404],
  ['unknown Expect', 'GET /registry HTTP/1.1\r\nHost: localhost\r\nExpect: miracles\r\n\r\n', 417],
  [
    'Upgrade request',
    'GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    404,
  ],
  ['absolute-form target', 'GET http://localhost/nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n', 404],
  ['asterisk-form target', 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n', 404],
];
