import { describe, expect, it } from 'vitest';
import { covers } from '../claims/claims.js';
import { leastMissing } from './least-missing.js';

const need = (...pairs: string[]) =>
  pairs.map((pair) => {
    const [key = '', needs = ''] = pair.split('=');
    return { key, needs, held: [] };
  });

describe('the least that is missing', () => {
  const opens = (held: Readonly<Record<string, unknown>>) =>
    covers(held, { org: 'a' }, 'all') &&
    (covers(held, { team: ['x', 'y'] }, 'all') || covers(held, { tier: '1' }, 'all'));

  it.each([
    [
      'is the shorter one of two ways',
      [need('org=a', 'team=x', 'team=y'), need('org=a', 'tier=1')],
      need('org=a', 'tier=1'),
    ],
    ['holds nothing that is not needed', [need('org=a', 'tier=1', 'team=x')], need('org=a', 'tier=1')],
    ['holds nothing twice', [need('org=a', 'org=a', 'tier=1')], need('org=a', 'tier=1')],
    ['is nothing where no way opens it', [need('org=a'), need('team=x')], undefined],
    [
      'is not looked for among very many',
      [Array.from({ length: 60 }, (_, n) => need(`k=${n}`)).flat()],
      undefined,
    ],
  ])('%s', (_, candidates, least) => {
    expect(leastMissing({}, candidates, opens)).toEqual(least);
  });

  it('is found without asking very often', () => {
    const candidates = Array.from({ length: 1_000 }, (_, n) => need('org=a', 'tier=1', `k=${n}`, 'team=x'));
    let asked = 0;
    const counted = (held: Readonly<Record<string, unknown>>) => (asked += 1) > 0 && opens(held);
    expect(leastMissing({}, candidates, counted)).toEqual(need('org=a', 'tier=1'));
    expect(asked).toBeLessThan(5_000);
    expect(leastMissing({}, candidates, counted, 1_000)).toBeUndefined();
  });
});
