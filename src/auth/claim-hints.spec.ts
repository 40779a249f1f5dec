import { expect, it } from 'vitest';
import { claimHints } from './claim-hints.js';

it.each<[claims: Record<string, unknown>, about: RegExp[]]>([
  [{ realm_access: { roles: ['admin'] } }, [/realm_access/]],
  [{ resource_access: { registry: { roles: ['admin'] } } }, [/resource_access/]],
  [
    { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'https://x' } } },
    [/_claim_names/],
  ],
  [{ hasgroups: true }, [/hasgroups/]],
  [{ hasgroups: 'true' }, [/hasgroups/]],
  [{ realm_access: {}, hasgroups: true }, [/realm_access/, /hasgroups/]],
  [{ realm_access: 'admin', role: 'admin' }, []],
  [{ hasgroups: false, groups: ['a'] }, []],
  [{ _claim_names: { photo: 'src1' } }, []],
  [{}, []],
])('the claims %j give these hints: %j', (claims, about) =>
  expect(claimHints(claims)).toEqual(about.map((pattern) => expect.stringMatching(pattern))),
);
