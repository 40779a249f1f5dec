import { createServer } from 'node:http';
import { beforeAll, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { listensMeanwhile, urlOf } from '../support/loopback.js';
import { versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';

const LIST = '/registry/main/v0.1/servers';
let isEndless = false;
let number = 0;
const more = 'x'.repeat(900_000);
const upstream = createServer((request, response) => {
  if (!request.url?.includes('/servers')) return void response.writeHead(404).end('{}');
  const servers = isEndless
    ? Array.from({ length: 4 }, () => ({ server: { ...aServer(`io.acme/s${(number += 1)}`), more } }))
    : [{ server: aServer('io.acme/stays') }];
  response.end(JSON.stringify({ servers, metadata: isEndless ? { nextCursor: `c${number}` } : {} }));
});
listensMeanwhile(upstream);
const service = aService().registry('main', { sources: ['main'] });
beforeAll(() => void service.source('main', { kind: 'api', settings: { endpoint: urlOf(upstream) } }));
service.runs();

it('a registry that does not end fails at 128 MiB, and its earlier entries stay', async () => {
  expect(await service.synced('main')).toMatchObject({ status: 'complete', error: null });
  isEndless = true;
  const { status, error } = await service.synced('main');
  expect({ status, error }).toEqual({
    status: 'failed',
    error: expect.stringContaining('The registry has more than 128 MiB of documents, the maximum'),
  });
  expect(versionsIn(await service.get(LIST))).toEqual(['io.acme/stays@1.0.0']);
});
