import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { aService } from '../support/service.js';
import { StatementTap } from '../support/statement-tap.js';
import { anUpstreamRegistry } from '../support/upstream-registry.js';

const COUNT = 2_100;
/** Limits the time for which the driver blocks the event loop, because it parses a result synchronously. */
const MAX_ROWS = 2_000;

const servers = (description: string) =>
  Array.from({ length: COUNT }, (_, index) => aServer(`io.acme/s${index}`, '1.0.0', { description }));

describe(`a sync in which ${COUNT} servers change`, () => {
  const upstream = anUpstreamRegistry().runs();
  const service = aService().source('file', { servers: servers('Before') });
  beforeAll(() => {
    upstream.put(servers('Before'));
    service.source('api', { kind: 'api', settings: { endpoint: upstream.url } });
  });
  service.registry('main', { sources: ['file', 'api'] }).runs();
  let tap: StatementTap;
  beforeAll(async () => {
    await service.synced('file');
    await service.synced('api');
    tap = new StatementTap(service.database);
    const port = await tap.listen();
    const { user, database } = service.database;
    const throughTap = { host: '127.0.0.1', port, user, database };
    await service.restart((edited) => edited.configuration({ database: throughTap }));
  });
  beforeEach(() => (tap.answeredRows.length = 0));
  afterAll(() => tap.close());

  const largestAnswerIn = async (source: string) => {
    expect(await service.synced(source)).toMatchObject({ status: 'complete', counts: { changed: COUNT } });
    expect(tap.answeredRows.reduce((sum, rows) => sum + rows, 0)).toBeGreaterThan(COUNT);
    return Math.max(...tap.answeredRows);
  };

  it('reads the stored versions of a file source in bounded batches', async () => {
    await service.rewrite('file', { servers: servers('After') });
    expect(await largestAnswerIn('file')).toBeLessThanOrEqual(MAX_ROWS);
  });

  it('reads the stored versions of an incremental api source in bounded batches', async () => {
    upstream.put(servers('After'));
    expect(await largestAnswerIn('api')).toBeLessThanOrEqual(MAX_ROWS);
  });
});
