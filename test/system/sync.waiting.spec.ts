import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { aCatalogue, aServer } from '../support/documents.js';
import { listensMeanwhile, urlOf } from '../support/loopback.js';
import { versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';

const MIB = 1024 * 1024;

/** Servers of 2.4 MB, which need more memory than every sync may use without waiting. */
const large = (name: string) =>
  Array.from({ length: 40 }, (_, index) =>
    aServer(`io.acme/${name}-${index}`, '1.0.0', { padding: 'y'.repeat(60_000) }),
  );

describe('a sync that needs memory held by another', () => {
  let isGreedy = false;
  // A greedy response announces a file of 64 MiB, which reserves all memory, and sends nothing.
  const upstream = createServer((_request, response) => {
    if (isGreedy) response.writeHead(200, { 'content-length': 64 * MIB }).flushHeaders();
    else response.end(JSON.stringify(aCatalogue([aServer('io.acme/modest')])));
  });
  listensMeanwhile(upstream);
  const service = aService();
  beforeAll(
    () =>
      void service
        .source('greedy', { settings: { url: `${urlOf(upstream)}/` } })
        .source('large', { servers: [aServer('io.acme/large')] })
        .source('small', { servers: [aServer('io.acme/small')] })
        .registry('large', { sources: ['large'] }),
  );
  service.runs();
  const stateOf = async (name: string) => {
    const [row] = await service.database.query(
      `select status, attempts, error, lease_owner is not null as leased
       from source_sync y join source s on s.id = y.source_id where s.name = $1`,
      [name],
    );
    return row;
  };
  const list = async () => versionsIn(await service.get('/registry/large/v0.1/servers?limit=100'));
  const waits = () =>
    service
      .logs()
      .filter(
        ({ msg, source }) => msg === 'Sync waits for memory that other syncs hold' && source === 'large',
      ).length;

  /** The open response to a run of `greedy`, which holds all memory while `large` waits to read new content. */
  async function waiting(content: string): Promise<ServerResponse> {
    const before = waits();
    isGreedy = false;
    await service.synced('greedy');
    isGreedy = true;
    const asked = once(upstream, 'request') as Promise<[unknown, ServerResponse]>;
    await service.database.query(
      `update source_sync y set next_run_at = now() from source s where s.id = y.source_id and s.name = 'greedy'`,
    );
    const [, response] = await asked;
    await service.rewrite('large', { servers: large(content) });
    await expect.poll(waits).toBe(before + 1);
    isGreedy = false;
    return response;
  }

  it('waits, is served afterwards, and delays no small source', async () => {
    const response = await waiting('first');
    expect(await stateOf('large')).toEqual({ status: 'syncing', attempts: 1, error: null, leased: true });
    expect(await service.synced('small')).toMatchObject({ status: 'complete', error: null });
    expect(await list()).toEqual(['io.acme/large@1.0.0']);
    response.destroy();
    await expect.poll(async () => (await list())[0]).toBe('io.acme/first-0@1.0.0');
    expect(await stateOf('large')).toEqual({ status: 'complete', attempts: 0, error: null, leased: false });
  });

  it('gives up its lease when the server stops, and is neither failed nor counted', async () => {
    await waiting('second');
    await service.stop();
    expect(await stateOf('large')).toEqual({ status: 'complete', attempts: 0, error: null, leased: false });
    const aborted = service.logs().filter(({ msg }) => String(msg).startsWith('Sync aborted'));
    // It ends before the runs that read, which have time to finish.
    expect(aborted.map(({ source }) => source)).toEqual(['large', 'greedy']);
    await service.start();
  });

  it('ends when its source is removed', async () => {
    const response = await waiting('third');
    await service.reload(() => service.withoutSource('large').withoutRegistry('large'));
    const superseded = () =>
      service.logs().filter(({ msg, source }) => /took over its source/.test(msg) && source === 'large')
        .length;
    await expect.poll(superseded).toBe(1);
    response.destroy();
  });
});
