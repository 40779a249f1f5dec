import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

const url = 'http://127.0.0.1:9/catalogue.json';
const reading = (interval: string, patterns = 1) => ({
  file: { url },
  syncPolicy: { interval },
  filter: { names: { exclude: Array.from({ length: patterns }, (_, index) => `io.acme/${index}`) } },
});

describe('a source created through the API', () => {
  const service = aService().runs();

  it('schedules its next sync by the new interval', async () => {
    await service.put('/v1/sources/often', reading('365d'));
    // Waits for a successful run, because a failed one is retried soon anyway.
    await service.synced('often');
    await service.database.query(
      `update source_sync set status = 'complete', next_run_at = now() + interval '300 days'`,
    );
    expect((await service.put('/v1/sources/often', reading('1h'))).status).toBe(200);
    const { sync } = (await service.get('/v1/sources/often')).json as { sync: { nextRunAt: string } };
    expect(Date.parse(sync.nextRunAt) - Date.now()).toBeLessThanOrEqual(3_600_000);
  });

  it('has at most 200 patterns in a filter', async () => {
    expect((await service.put('/v1/sources/patterns', reading('1h', 200))).status).toBe(201);
    expectRefused(await service.put('/v1/sources/patterns', reading('1h', 201)), 400, 'invalid_body');
  });

  it('gets 503 database_timeout while another transaction locks it', async () => {
    await service.put('/v1/sources/held', reading('1h'));
    const holder = new pg.Client(service.database.connection);
    await holder.connect();
    await holder.query('begin');
    await holder.query(`select 1 from source where name = 'held' for update`);
    const refused = await service.put('/v1/sources/held', reading('2h'));
    expectRefused(refused, 503, 'database_timeout');
    expect(refused.headers['retry-after']).toBeDefined();
    await holder.query('rollback');
    await holder.end();
    expect((await service.put('/v1/sources/held', reading('2h'))).status).toBe(200);
  });
});
