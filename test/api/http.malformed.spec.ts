import { describe, expect, it } from 'vitest';
import { call } from '../support/http.js';
import { aServer } from '../support/documents.js';
import { versionsIn } from '../support/matchers.js';
import { LIST, MALFORMED, MALFORMED_BYTES } from '../support/malformed-requests.js';
import { sendRaw } from '../support/raw.js';
import { allHandlers } from '../support/routes.js';
import { aService } from '../support/service.js';

const CODE_OF_STATUS: Record<number, string> = {
  400: 'malformed_request',
  404: 'route_not_found',
  417: 'expectation_failed',
  431: 'headers_too_large',
};
describe('malformed requests', () => {
  const service = aService()
    .source('main', { servers: [aServer('io.acme/a')], skills: [] })
    .registry('main', { sources: ['main'] })
    .runs();

  const answersNormally = async () =>
    expect(versionsIn(await service.get(LIST))).toEqual(['io.acme/a@1.0.0']);

  it(`cover at least 300 cases`, () => {
    expect(
      new Set([...MALFORMED.map((row) => JSON.stringify(row)), ...MALFORMED_BYTES.map(([, bytes]) => bytes)])
        .size,
    ).toBeGreaterThanOrEqual(300);
  });

  it.each(MALFORMED)('$name', async ({ path, status, code, method, headers, body }) => {
    const reply = await call(service.origin + path, {
      method: method ?? 'GET',
      headers: headers ?? {},
      ...(body === undefined ? {} : { body }),
    });
    expect({ status: reply.status, text: reply.status === status ? '' : reply.text }).toEqual({
      status,
      text: '',
    });
    expect(reply.json).toEqual({
      error: expect.stringMatching(/\w+ \w+/),
      code: expect.stringMatching(/^[a-z]+(_[a-z]+)+$/),
      requestId: reply.headers['x-request-id'],
      ...((reply.json as { details?: unknown }).details === undefined ? {} : { details: expect.any(Array) }),
    });
    if (code !== undefined) expect(reply.json).toMatchObject({ code });
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it.each(MALFORMED_BYTES)('%s', async (_name, bytes, status) => {
    const answer = await sendRaw(service.port, bytes);
    expect(answer.split('\r\n')[0]).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as unknown;
    expect(body).toEqual({
      error: expect.any(String),
      code: CODE_OF_STATUS[status],
      requestId: expect.any(String),
    });
  });

  it('with a NUL in any parameter of a path are refused', async () => {
    const routes = (await allHandlers()).flatMap((handler) => handler.routes);
    const paths = routes.map((route) => route.replace('{registry}', 'main').replace('{type}', 'skill'));
    const withNul = paths
      .filter((path) => path.includes('{'))
      .map((path) => path.replaceAll(/\{\w+\}/g, 'a%00'));
    expect(withNul).toContain('DELETE /v1/blocks/a%00');
    const answers = await Promise.all(
      withNul.map(async (route) => {
        const [method = '', path = ''] = route.split(' ');
        const headers = { 'Content-Type': 'application/json' };
        const sent = ['GET', 'DELETE'].includes(method) ? {} : { headers, body: '{}' };
        return `${(await call(service.origin + path, { method, ...sent })).status} ${route}`;
      }),
    );
    expect(answers.filter((answer) => !/^(4|501)/.test(answer))).toEqual([]);
  });

  it('with a 10 MB body get 413 and are read no further', async () => {
    const head = `PUT /v1/sources/made HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10485760\r\n\r\n`;
    const answer = await sendRaw(service.port, head + '"'.padEnd(10_485_760, 'x'));
    expect(answer.split('\r\n')[0]).toContain('413');
    expect(answer).toContain('body_too_large');
  });

  it('leave the service working', answersNormally);
});
