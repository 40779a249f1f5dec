import type { Issuer } from '../issuer.js';
import { makeToken } from '../tokens.js';
import type { Held } from '../model/model.js';

const TEAMS = ['data', 'platform', 'web'];

/**
 * The readers' claims: twenty kinds of callers with twenty different views. Each sort has several equivalent spellings.
 */
const SORTS: readonly (readonly Held[])[] = [
  [{ role: 'super-admin' }, { role: ['reader', 'super-admin'] }, { role: 'super-admin', org: 'contoso' }],
  [{}, { team: 'sales' }, { org: 'initech' }],
  [{ org: 'contoso' }, { org: ['contoso'] }, { org: 'contoso', team: 'sales' }],
  [
    { org: 'contoso', env: 'dev' },
    { org: ['contoso'], env: ['dev'] },
  ],
  [{ org: 'acme' }, { org: ['acme', 'initech'] }],
  [
    { org: 'acme', team: 'platform' },
    { org: 'acme', team: ['platform'] },
  ],
  [
    { org: 'acme', team: 'data' },
    { org: ['acme'], team: ['data', 'sales'] },
  ],
  [
    { org: 'acme', team: 'web' },
    { org: 'acme', team: ['web', 'web'] },
  ],
  [
    { org: 'acme', team: ['platform', 'data'] },
    { org: 'acme', team: ['data', 'platform'] },
  ],
  [
    { org: 'acme', team: ['platform', 'web'] },
    { org: 'acme', team: ['web', 'platform'] },
  ],
  [
    { org: 'acme', team: ['data', 'web'] },
    { org: 'acme', team: ['web', 'sales', 'data'] },
  ],
  [
    { org: 'acme', team: TEAMS },
    { org: 'acme', team: [...TEAMS].reverse() },
  ],
  [
    { org: 'acme', env: 'dev' },
    { org: 'acme', env: ['dev'] },
  ],
  [
    { org: 'acme', env: 'prod' },
    { org: ['acme'], env: 'prod' },
  ],
  [
    { org: 'acme', team: 'platform', env: 'dev' },
    { org: 'acme', team: ['platform'], env: ['dev'] },
  ],
  [
    { org: 'acme', team: 'data', env: 'prod' },
    { org: 'acme', team: 'data', env: ['prod', 'test'] },
  ],
  [
    { org: 'acme', team: ['platform', 'data'], env: ['dev', 'prod'] },
    { org: 'acme', team: ['data', 'platform'], env: ['prod', 'dev'] },
  ],
  [{ org: ['acme', 'contoso'] }, { org: ['contoso', 'acme'] }],
  [
    { org: ['acme', 'contoso'], team: TEAMS, env: ['dev', 'prod'], tier: '1' },
    { org: ['contoso', 'acme'], team: TEAMS, env: ['prod', 'dev'], tier: 1 },
  ],
  [{ tier: '1' }, { tier: 1 }, { tier: [1, 2] }],
];

/** One of many readers; no two have the same token. */
export interface Reader {
  /** Readers of one sort see the same. */
  readonly sort: number;
  readonly claims: Held;
  readonly token: string;
}

/**
 * All callers hold these. There are few, because the service caches each combination used as claims, and memory
 * must stay flat.
 */
export const PROJECTS = ['p1', 'p2', 'p3', 'p4', 'p5'];

/** The first spelling of each sort. */
export const SORTS_OF_CALLERS: readonly Held[] = SORTS.map(([first]) => ({ ...first, project: PROJECTS }));

/** Creates callers, each with a token, evenly distributed over the sorts. */
export function manyCallers(issuer: Issuer, size: number): Reader[] {
  return Array.from({ length: size }, (_, index) => {
    const sort = index % SORTS.length;
    const ways = SORTS[sort] ?? [];
    const way = ways[Math.floor(index / SORTS.length) % ways.length];
    const claims = { ...way, project: PROJECTS, sub: `reader-${index}` };
    return { sort, claims, token: rsToken(issuer, claims) };
  });
}

/** An RS256 token that is not registered as a secret: there are thousands. */
export function rsToken(issuer: Issuer, claims: Held): string {
  const kid = 'load';
  const { alg, privateKey } = issuer.key(kid, { alg: 'RS256' });
  return makeToken({ header: { alg, kid, typ: 'JWT' }, payload: issuer.claims(claims), key: privateKey });
}
