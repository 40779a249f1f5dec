import { describe, expect, it } from 'vitest';
import { hintsFor, providerHints } from './hints.js';
import type { Step } from './steps.js';

const missing = (key: string, needs: string): Step => ({
  step: 'entry',
  outcome: 'refused',
  missing: [{ key, needs, held: [] }],
});

describe('a hint is given', () => {
  it.each<[string, Record<string, unknown>, Step[], string | RegExp]>([
    [
      'of a number that lost its digits',
      { tenant: 2 ** 60 },
      [],
      /"tenant" holds a number that is too large/,
    ],
    ['of one among several', { tenant: ['1', 2 ** 60] }, [], /too large/],
    ['of scopes in one text', { scope: 'read write' }, [], /"scope" is one text/],
    ['of roles that are nested', { realm_access: { roles: ['x'] } }, [], /realm_access/],
    ['of groups that are elsewhere', { hasgroups: true }, [], /omit the groups/],
    ['of a key in other letters', { Team: 'a' }, [missing('team', 'a')], /"Team": case counts/],
    ['of a value in other letters', { team: ' A' }, [missing('team', 'a')], /" A": case and spaces count/],
    ['of a key that is nested', { x: { y: { team: 'a' } } }, [missing('team', 'a')], /at x\.y\.team/],
    [
      'of an entry without claims',
      {},
      [{ step: 'entry', outcome: 'refused', because: 'unlabeled' }],
      /super-admins/,
    ],
    [
      'of a deleted version',
      {},
      [{ step: 'version', outcome: 'refused', because: 'status: deleted' }],
      /include_deleted/,
    ],
  ])('%s', (_, held, steps, hint) => {
    expect(hintsFor(held, steps)).toEqual([expect.stringMatching(hint)]);
  });

  it('of a few among very many, in little time', () => {
    const many = (count: number, prefix: string) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);
    const below = Object.fromEntries(many(5_000, 'k').map((key) => [key, {}]));
    const held = { below, team: [...many(5_000, 'Held'), 'NEEDED1'] };
    const steps = many(10_000, 'needed').map((needs) => missing('team', needs));
    steps.push(...many(10_000, 'absent').map((key) => missing(key, 'x')));
    expect(hintsFor(held, steps)).toEqual([expect.stringMatching(/"NEEDED1": case and spaces count/)]);
  });

  it.each<[string, Record<string, unknown>, Step[]]>([
    ['of numbers that are whole', { tenant: 12 }, []],
    ['of one scope', { scope: 'read' }, []],
    ['of a key that is like one nobody asks for', { Team: 'a' }, [missing('org', 'a')]],
    ['of a value that is another', { team: 'b' }, [missing('team', 'a')]],
  ])('not %s', (_, held, steps) => expect(hintsFor(held, steps)).toEqual([]));
});

describe('that another provider is needed', () => {
  const mapped = { name: 'ci', issuerUrl: 'https://ci', claims: [{ to: 'org' }] };
  const open = { name: 'corporate', issuerUrl: 'https://idp' };
  it.each([
    ['https://ci', [mapped, open], 1],
    ['https://idp', [mapped, open], 0],
    ['https://ci', [mapped, { ...open, issuerUrl: 'https://ci' }], 0],
    [undefined, [mapped], 0],
  ])('is told of tokens of %s', (iss, providers, count) => {
    expect(providerHints({ iss }, [missing('team', 'a')], providers)).toHaveLength(count);
    expect(providerHints({ iss }, [missing('org', 'a')], providers)).toEqual([]);
  });
});
