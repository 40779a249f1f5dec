import { describe, expect, it } from 'vitest';
import { hintsFor, providerHints } from './hints.js';
import type { Step } from './steps.js';

const missing = (key: string, needs: string): Step => ({
  step: 'entry',
  outcome: 'refused',
  missing: [{ key, needs, held: [] }],
});

describe('hints', () => {
  it.each<[string, Record<string, unknown>, Step[], string | RegExp]>([
    ['a number beyond double precision', { tenant: 2 ** 60 }, [], /"tenant" has a number that is too large/],
    ['such a number in an array', { tenant: ['1', 2 ** 60] }, [], /too large/],
    [
      'scopes in one string',
      { scope: 'read write' },
      [missing('scope', 'read')],
      /"scope" is a single string/,
    ],
    ['nested roles', { realm_access: { roles: ['x'] } }, [], /realm_access/],
    ['groups that were left out of the token', { hasgroups: true }, [], /groups/],
    ['a key that differs in case', { Team: 'a' }, [missing('team', 'a')], /"Team": case matters/],
    [
      'a value that differs in case and spaces',
      { team: ' A' },
      [missing('team', 'a')],
      /" A": case and spaces matter/,
    ],
    ['a nested key', { x: { y: { team: 'a' } } }, [missing('team', 'a')], /at x\.y\.team/],
    [
      'an entry without claims',
      {},
      [{ step: 'entry', outcome: 'refused', because: 'unlabeled' }],
      /super-admins/,
    ],
    [
      'a deleted version',
      {},
      [{ step: 'version', outcome: 'refused', because: 'status: deleted' }],
      /include_deleted/,
    ],
  ])('mention %s', (_, held, steps, hint) => {
    expect(hintsFor(held, steps)).toEqual([expect.stringMatching(hint)]);
  });

  it('take little time even for very many claims', () => {
    const many = (count: number, prefix: string) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);
    const below = Object.fromEntries(many(5_000, 'k').map((key) => [key, {}]));
    const held = { below, team: [...many(5_000, 'Held'), 'NEEDED1'] };
    const steps = many(10_000, 'needed').map((needs) => missing('team', needs));
    steps.push(...many(10_000, 'absent').map((key) => missing(key, 'x')));
    expect(hintsFor(held, steps)).toEqual([expect.stringMatching(/"NEEDED1": case and spaces matter/)]);
  });

  it.each<[string, Record<string, unknown>, Step[]]>([
    ['a safe integer', { tenant: 12 }, []],
    ['one scope', { scope: 'read' }, [missing('scope', 'write')]],
    ['scopes that nothing requires', { scope: 'read write' }, [missing('org', 'a')]],
    ['a similar key that is not required', { Team: 'a' }, [missing('org', 'a')]],
    ['another value', { team: 'b' }, [missing('team', 'a')]],
  ])('do not mention %s', (_, held, steps) => expect(hintsFor(held, steps)).toEqual([]));
});

describe('a hint that the provider does not map a claim', () => {
  const mapped = { name: 'ci', issuerUrl: 'https://ci', claims: [{ to: 'org' }] };
  const open = { name: 'corporate', issuerUrl: 'https://idp' };
  it.each([
    ['https://ci', [mapped, open], 1],
    ['https://idp', [mapped, open], 0],
    ['https://ci', [mapped, { ...open, issuerUrl: 'https://ci' }], 0],
    [undefined, [mapped], 0],
  ])('is given only if all providers of issuer %s have a mapping', (iss, providers, count) => {
    expect(providerHints({ iss }, [missing('team', 'a')], providers)).toHaveLength(count);
    expect(providerHints({ iss }, [missing('org', 'a')], providers)).toEqual([]);
  });
});
