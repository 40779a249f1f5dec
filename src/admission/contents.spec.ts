import { expect, it } from 'vitest';
import type { AdmissionConfig } from '../config/config.js';
import type { IncomingVersion } from '../documents/entry-types.js';
import type { StoredVersion } from '../entry-store/entry.entity.js';
import { contentsOf } from '../members/members.js';
import type { Members } from '../members/members.responses.js';
import { curate, takesBack } from './curation-rules.js';
import { reviewReason } from './review-rules.js';
import { type SeenContent, verdictOn } from './synced-verdict.js';

type Rules = NonNullable<AdmissionConfig['rules']>;

const NOW = new Date('2026-11-27T12:00:00Z');
const HOOKS: Members = { hooks: [{ event: 'Stop' }] };
const BROKEN: Members = { unreadable: ['.mcp.json'] };
const holdsHooks: Rules[number] = { names: ['*'], contains: ['hooks', 'lsp'], action: 'hold' };
const rejectsHooks: Rules[number] = { ...holdsHooks, action: 'reject' };
const admitsServers: Rules[number] = { names: ['*'], contains: ['servers'], action: 'admit' };
const holdsAll: Rules[number] = { names: ['*'], action: 'hold' };

function outcome(rules: Rules, members: Members | null, type = 'plugin'): string {
  const contents = contentsOf(type, members);
  const name = 'io.acme/one';
  const seen = {
    name,
    version: '1.0.0',
    publishedAt: null,
    firstSeenAt: NOW,
    isKnownName: true,
    isServed: false,
  };
  const verdict = curate({ rules }, { ...seen, contents }, NOW);
  const back = takesBack({ rules }, { name, contents }) ? ' back' : '';
  return verdict.outcome === 'admit'
    ? 'admit'
    : `${verdict.reasons.map(({ policy }) => policy).join()}${back}`;
}

it.each<[what: string, rules: Rules, members: Members | null, expected: string]>([
  ['unknown content', [holdsHooks], null, 'content'],
  ['content without it', [holdsHooks], { servers: [{ name: 'a' }] }, 'admit'],
  ['content with it', [holdsHooks], HOOKS, 'rule'],
  ['unreadable content', [holdsHooks], BROKEN, 'rule'],
  ['an earlier rule without contains', [{ names: ['io.acme/*'], minAge: '0s' }, holdsHooks], null, 'admit'],
  ['an earlier rule that could match', [holdsHooks, holdsAll], null, 'content'],
  ['a later rule, once the first does not match', [admitsServers, holdsAll], HOOKS, 'rule'],
  ['what a rule admits', [admitsServers, holdsAll], { servers: [{ name: 'a' }] }, 'admit'],
  ['not unreadable content, which could be anything', [admitsServers, holdsAll], BROKEN, 'rule'],
  ['what a rule rejects', [rejectsHooks], HOOKS, 'rule back'],
  ['what a rule could reject', [rejectsHooks], null, 'content'],
])('rules with contains decide about %s', (_, rules, members, expected) => {
  expect(outcome(rules, members)).toBe(expected);
});

it('rules with contains match no server', () => {
  expect(outcome([holdsHooks, rejectsHooks], null, 'server')).toBe('admit');
});

it.each<[what: string, type: string, members: Members | null, expected: string | undefined]>([
  ['unknown content', 'plugin', null, 'content'],
  ['content with it', 'skill', HOOKS, 'review'],
  ['unreadable content', 'plugin', BROKEN, 'review'],
  ['content without it', 'plugin', {}, undefined],
  ['no server', 'server', null, undefined],
])('review rules with contains hold %s', (_, type, members, expected) => {
  const rules = [{ names: ['io.acme/*'], contains: ['hooks'] as const, reviewers: { team: 'review' } }];
  expect(reviewReason(rules, 'io.acme/one', contentsOf(type, members))?.policy).toBe(expected);
});

it.each<[string, Rules, SeenContent, object]>([
  ['holds new content that matches', [holdsHooks], { own: HOOKS, kept: null }, { outcome: 'hold' }],
  ['holds new content that a rule rejects', [rejectsHooks], { own: HOOKS, kept: null }, { takesBack: true }],
  ['keeps other new content', [holdsHooks], { own: {}, kept: null }, { outcome: 'admit' }],
  ['keeps content that it had', [holdsHooks], { own: HOOKS, kept: HOOKS }, { outcome: 'admit' }],
  ['keeps a version without content', [holdsHooks], { own: null, kept: null }, { outcome: 'admit' }],
  ['ignores rules without contains', [holdsAll], { own: HOOKS, kept: null }, { outcome: 'admit' }],
])('a sync of a served version %s', (_rule, rules, content, expected) => {
  const digest = Buffer.from('same');
  const version = { type: 'plugin', name: 'io.acme/one', version: '1.0.0', digest } as IncomingVersion;
  const stored = { versionId: '1', digest, publishedAt: NOW.getTime() } as StoredVersion;
  const seen = {
    ...{ version, stored, content, isServed: true, isKnownName: true },
    ...{ items: [], held: undefined, rejected: undefined },
  };
  const { verdict, unasked } = verdictOn(seen, {
    admission: { rules },
    blocks: [],
    webhooks: ['scanner'],
    now: NOW,
  });
  expect(verdict).toMatchObject(expected);
  expect(unasked).toEqual([]);
});
