import { describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { encodeCursor } from '../../dist/http/lists/cursor.js';
import { expectRefused, versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';

describe('a catalogue with very many bad entries', () => {
  const bad = (count: number) =>
    JSON.stringify({
      version: '1.0.0',
      meta: { last_updated: '2026-01-01T00:00:00Z' },
      data: { servers: [aServer('io.acme/good'), ...Array.from({ length: count }, () => 1)] },
    });
  const service = aService()
    .source('main', { text: bad(2_000) })
    .registry('main', { sources: ['main'] })
    .runs();

  it('tells of the first 500 and counts the rest', async () => {
    const { status, counts, skipped } = await service.synced('main');
    expect({ status, skipped: counts['skipped'], told: skipped.length }).toEqual({
      status: 'complete',
      skipped: 2_000,
      told: 500,
    });
  });

  it('is no catalogue at all beyond 100 000 of them, and the earlier entries stay', async () => {
    await service.rewrite('main', { text: bad(100_001) });
    const { status, error } = await service.synced('main');
    expect({ status, error }).toEqual({
      status: 'failed',
      error: 'More than 100000 entries are not valid: this is no catalogue',
    });
    expect(versionsIn(await service.get('/registry/main/v0.1/servers'))).toEqual(['io.acme/good@1.0.0']);
  });

  it.each([
    ['nowhere', { after: null, limit: 5 }],
    ['a rank no integer can hold', { after: { name: 'a', type: 'server', rank: 2 ** 40 }, limit: 5 }],
    ['a type there is not', { after: { name: 'a', type: 'plugin', rank: 1 }, limit: 5 }],
  ])('is not listed from a forged cursor that points %s', async (_where, state) => {
    const cursor = encodeCursor('source-entries', state);
    const reply = await service.get(`/v1/sources/main/entries?cursor=${cursor}`);
    expectRefused(reply, 400, 'invalid_cursor');
  });
});
