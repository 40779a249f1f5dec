import { describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { cursorIn, versionsIn } from '../support/matchers.js';
import { aService, type ServiceUnderTest } from '../support/service.js';
import { inSoak } from '../support/soak.js';

const LIST = '/registry/main/v0.1/servers';
const LIMITS = inSoak(
  Array.from({ length: 99 }, (_, index) => index + 1),
  [1, 2, 3, 29, 30, 31, 57, 99],
);

function numbered(prefix: string, names: number, versions: number): unknown[] {
  return Array.from({ length: names * versions }, (_, index) =>
    aServer(`${prefix}${String(index % names).padStart(3, '0')}`, `1.${Math.floor(index / names)}.0`),
  );
}

/** Returns every row of the list, page by page. */
async function walk(
  service: ServiceUnderTest,
  limit: number,
  between?: () => Promise<unknown>,
): Promise<string[]> {
  const rows: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const page = await service.get(`${LIST}?limit=${limit}&cursor=${cursor}`);
    rows.push(...versionsIn(page));
    cursor = cursorIn(page);
    await between?.();
  }
  return rows;
}

describe('paging through the versions in two sources', () => {
  const [first, second] = inSoak([60, 100], [20, 40]);
  const versions = 3 * first + 5 + second;
  const service = aService()
    .source('one', { servers: numbered('io.acme/a', first, 3) })
    .source('two', { servers: [...numbered('io.acme/a0', 5, 1), ...numbered('io.acme/b', second, 1)] })
    .registry('main', { sources: ['one', 'two'] })
    .runs();

  it('returns each version exactly once and in order, at limits from 1 to 100', async () => {
    const everything = await walk(service, 100);
    // "io.acme/a0000" and its four neighbors are distinct names; nothing is shadowed.
    expect(everything).toHaveLength(versions);
    expect(new Set(everything).size).toBe(versions);
    const names = everything.map((row) => row.split('@')[0] ?? '');
    expect(names).toEqual([...names].sort());
    expect(everything.slice(0, 3)).toEqual([
      'io.acme/a000@1.2.0',
      'io.acme/a000@1.1.0',
      'io.acme/a000@1.0.0',
    ]);
    for (const limit of LIMITS) expect(await walk(service, limit)).toEqual(everything);
  });

  it('has no gaps or duplicates while syncs change the catalog between pages', async () => {
    const staying = numbered('io.acme/b', second, 1);
    let round = 0;
    const rows = await walk(service, inSoak(7, 17), async () => {
      round += 1;
      // Names come and go before, between and after the permanent ones.
      const passing = ['io.acme/b', 'io.acme/Z', 'io.acme/c'].flatMap((name) => [
        aServer(`${name}x${round}`),
        aServer(`${name}0${round}x`),
      ]);
      await service.rewrite('two', { servers: [...passing, ...staying] });
      expect((await service.synced('two')).status).toBe('complete');
    });
    const stayed = rows.filter((row) => /^io\.acme\/(a\d{3}|b\d{3})@/.test(row));
    expect(stayed).toHaveLength(3 * first + second);
    expect(new Set(rows).size).toBe(rows.length);
  });
});
