import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { ACME_ADMIN, ACME_WRITER, NOBODY } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { sendRaw } from '../support/raw.js';
import { aService } from '../support/service.js';

const NESTED = Buffer.from('['.repeat(590_000) + ']'.repeat(590_000));

/** Resolves with the status line and error code once the server has closed the connection. */
function answerWhenClosed(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => (answer += chunk.toString()));
    socket.on('error', reject);
    socket.on('close', () => resolve(`${answer.split('\r\n')[0]} ${/"code":"(\w+)"/.exec(answer)?.[1]}`));
    socket.write(bytes);
  });
}

describe('request bodies', () => {
  const service = aService({ mode: 'full' })
    .source('tools', { claims: { org: 'acme' }, servers: [aServer('io.acme/a')] })
    .source('other', { claims: { org: 'contoso' }, servers: [aServer('io.contoso/a')] })
    .registry('tools', { sources: ['tools'], claims: { org: 'acme' } })
    .source('published', { kind: 'managed' })
    .runs();
  const head = (method: string, path: string, headers: Record<string, string> = {}) =>
    `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${Object.entries({
      'Content-Type': 'application/json',
      ...headers,
    })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n`;

  // No body is ever sent: a response proves that the server did not wait for one.
  it.each([
    ['no token was sent', 'PUT', '/v1/sources/new', undefined, 401],
    ['the token is invalid', 'PUT', '/v1/sources/new', 'none', 401],
    ['the role is missing', 'PUT', '/v1/sources/new', NOBODY, 403],
    ['the source is hidden', 'PUT', '/v1/sources/other', ACME_ADMIN, 404],
    ['the source is managed by the configuration', 'PUT', '/v1/sources/tools', ACME_ADMIN, 403],
    ['the entry is unknown', 'PUT', '/v1/entries/server/io.acme%2Fnone/claims', ACME_WRITER, 404],
    ['the route is unknown', 'POST', '/nowhere', undefined, 404],
    ['the route is a GET', 'GET', '/v1/me', NOBODY, 200],
    ['the route is in the consumer API', 'GET', '/registry', NOBODY, 200],
    ['the registry takes no publications', 'POST', '/registry/main/v0.1/publish', ACME_ADMIN, 501],
    ['the method is DELETE', 'DELETE', '/v1/sources/none', ACME_ADMIN, 404],
  ])('are not awaited when %s', async (_where, method, path, caller, status) => {
    const token = typeof caller === 'object' ? service.issuer.sign(caller) : caller;
    const authorization: Record<string, string> =
      token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const answer = await sendRaw(
      service.port,
      head(method, path, { ...authorization, 'Content-Length': '1000000' }),
    );
    expect(answer.split('\r\n')[0]).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  it('are not decompressed without a token', async () => {
    // Invalid and unfinished: reading it would end in 400 or 408.
    const headers = { 'Content-Encoding': 'gzip', 'Content-Length': '1000000' };
    for (const [method, path] of [
      ['GET', '/registry'],
      ['PUT', '/v1/sources/new'],
    ] as const) {
      const answer = await sendRaw(service.port, `${head(method, path, headers)}not gzip`);
      expect(answer.split('\r\n')[0]).toMatch(/^HTTP\/1\.1 401 /);
    }
  });

  it('nested too deeply are refused before parsing, compressed or not', async () => {
    const admin = service.as(ACME_ADMIN);
    const plain = await admin.put('/v1/sources/new', NESTED);
    const compressed = await admin.put('/v1/sources/new', gzipSync(NESTED), {
      'Content-Type': 'application/json',
      'Content-Encoding': 'gzip',
    });
    for (const reply of [plain, compressed]) {
      expect(outcomeOf(reply)).toBe('400 invalid_body');
      expect((reply.json as { error: string }).error).toContain('nested more than 128 levels');
    }
  });

  it('are decompressed up to the size limit and no further', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024, ' '));
    const reply = await service.as(ACME_ADMIN).put('/v1/sources/new', bomb, {
      'Content-Type': 'application/json',
      'Content-Encoding': 'gzip',
    });
    expect(outcomeOf(reply)).toBe('413 body_too_large');
  });

  it('are read compressed for callers with the role', async () => {
    const reply = await service
      .as(ACME_ADMIN)
      .put('/v1/registries/made', gzipSync(JSON.stringify({ sources: ['tools'], claims: { org: 'acme' } })), {
        'Content-Type': 'application/json',
        'Content-Encoding': 'gzip',
      });
    expect(outcomeOf(reply)).toBe('201');
  });

  it('get 408 and a closed connection if they, or the headers, do not arrive within 10 s', async () => {
    const authorization = `Bearer ${service.issuer.sign(ACME_ADMIN)}`;
    const answers = await Promise.all([
      answerWhenClosed(
        service.port,
        `${head('PUT', '/v1/registries/late', { Authorization: authorization, 'Content-Length': '100' })}{"sources":`,
      ),
      answerWhenClosed(service.port, 'GET /registry HTTP/1.1\r\nHost: localhost\r\nX-Slow: '),
    ]);
    expect(answers).toEqual([
      'HTTP/1.1 408 Request Timeout request_timeout',
      'HTTP/1.1 408 Request Timeout request_timeout',
    ]);
    expect(outcomeOf(await service.as(ACME_ADMIN).get('/v1/registries/late'))).toBe('404 registry_not_found');
  });
});
