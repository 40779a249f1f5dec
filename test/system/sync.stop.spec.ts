import { once } from 'node:events';
import { createServer } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { aCatalogue, aServer } from '../support/documents.js';
import { listensMeanwhile, urlOf } from '../support/loopback.js';
import { aService, type SourceReport } from '../support/service.js';

describe('a service stopped during a sync', () => {
  let answers: 'well' | 'an error' | 'never' = 'well';
  const upstream = createServer((_request, response) => {
    if (answers === 'well') response.end(JSON.stringify(aCatalogue([aServer('io.acme/a')])));
    if (answers === 'an error') response.writeHead(500).end();
  });
  listensMeanwhile(upstream);
  const service = aService();
  beforeAll(() => void service.source('main', { settings: { url: `${urlOf(upstream)}/` } }));
  service.runs();

  async function leftByAStop(): Promise<Partial<SourceReport>> {
    answers = 'never';
    const asked = once(upstream, 'request');
    await service.database.query(`update source_sync set next_run_at = now()`);
    await asked;
    await service.stop();
    const [row] = await service.database.query<SourceReport>(
      `select status, error from source_sync where lease_owner is null`,
    );
    answers = 'well';
    await service.start();
    return row ?? {};
  }

  it('leaves the status complete when the last finished run succeeded', async () => {
    expect(await leftByAStop()).toEqual({ status: 'complete', error: null });
  });

  it('leaves the status failed, with the error, when the last finished run failed', async () => {
    answers = 'an error';
    expect(await service.synced('main')).toMatchObject({ status: 'failed' });
    const error = expect.stringContaining('status 500') as string;
    expect(await leftByAStop()).toEqual({ status: 'failed', error });
  });
});
