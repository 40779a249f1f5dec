import { describe, expect, it } from 'vitest';
import { covers } from '../claims/claims.js';
import { leastMissing } from './least-missing.js';

const need = (...pairs: string[]) =>
  pairs.map((pair) => {
    const [key = '', needs = ''] = pair.split('=');
    return { key, needs, held: [] };
  });

describe('the minimal missing claims', () => {
  const opens = (held: Readonly<Record<string, unknown>>) =>
    covers(held, { org: 'a' }, 'all') &&
    (covers(held, { team: ['x', 'y'] }, 'all') || covers(held, { tier: '1' }, 'all'));

  it.each([
    [
      'are the shorter of two sets that grant access',
      [need('org=a', 'team=x', 'team=y'), need('org=a', 'tier=1')],
      need('org=a', 'tier=1'),
    ],
    ['contain no unnecessary value', [need('org=a', 'tier=1', 'team=x')], need('org=a', 'tier=1')],
    ['contain no value twice', [need('org=a', 'org=a', 'tier=1')], need('org=a', 'tier=1')],
    ['are undefined if no set grants access', [need('org=a'), need('team=x')], undefined],
    [
      'are undefined for more than 50 values',
      [Array.from({ length: 60 }, (_, n) => need(`k=${n}`)).flat()],
      undefined,
    ],
  ])('%s', async (_, candidates, least) => {
    expect(await leastMissing({}, candidates, opens)).toEqual(least);
  });

  it('are found with a limited number of checks', async () => {
    const candidates = Array.from({ length: 1_000 }, (_, n) => need('org=a', 'tier=1', `k=${n}`, 'team=x'));
    let checks = 0;
    const counted = (held: Readonly<Record<string, unknown>>) => (checks += 1) > 0 && opens(held);
    expect(await leastMissing({}, candidates, counted)).toEqual(need('org=a', 'tier=1'));
    expect(checks).toBeLessThan(5_000);
    expect(await leastMissing({}, candidates, counted, 1_000)).toBeUndefined();
  });
});
