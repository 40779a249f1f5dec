import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Claims } from '../../dist/claims/claims.js';
import { unlessBusy } from '../support/answers.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer, aSkill } from '../support/documents.js';
import type { Reply, Sender } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { type Action, type Answered, isSerializable, type Published } from '../support/serializable.js';
import { aService } from '../support/service.js';
import { type Type, TYPES } from '../support/publishing.js';
import { inSoak } from '../support/soak.js';

const CLIENTS = inSoak(50, 20);
const TEAMS = ['platform', 'data', 'web', 'mobile', 'security'];
const ROUNDS = inSoak([1, 2, 3], [1]);
/** Number of racing names, and how many at a time: more requests than the pool has connections. */
const RACES = inSoak(100, 10);
const AT_ONCE = 10;

interface Entry {
  claims: Claims;
  versions: { version: string; isLatest: boolean }[];
}

const service = aService({ mode: 'full' })
  .source('tools', { kind: 'managed' })
  .registry('acme', { sources: ['tools'], claims: { org: 'acme' } })
  .runs();
const admin = () => service.as(SUPER_ADMIN);
/** A publisher of one team. */
const member = (team: string) => service.as({ sub: `of-${team}`, org: 'acme', team, role: 'writer' });
/** A publisher of every team. */
const everyTeam = () => service.as({ sub: 'eve', org: 'acme', team: ['before', 'after'], role: 'writer' });

async function entryOf(name: string, type = 'server'): Promise<Entry | undefined> {
  const reply = await admin().get(`/v1/entries/${type}/${encodeURIComponent(name)}`);
  if (reply.status === 404) return undefined;
  expect(reply.status).toBe(200);
  return reply.json;
}

/** Checks the invariant of every entry. */
function expectOneLatest({ versions }: Entry, newest: string): void {
  expect(versions.filter(({ isLatest }) => isLatest).map(({ version }) => version)).toEqual([newest]);
}

/** Versions from `1.0.0`; the last one is the newest. */
const clients = Array.from({ length: CLIENTS }, (_, client) => ({
  version: `1.${client}.0`,
  team: TEAMS[client % TEAMS.length] ?? '',
}));

describe.each(inSoak<readonly Type[]>(TYPES, ['server']))(
  `${CLIENTS} concurrent publishers of the same new %s`,
  (type) => {
    const body = (name: string, version: string, claims: Claims) =>
      type === 'server'
        ? { server: aServer(name, version), claims }
        : { skill: aSkill(name, version), claims };

    it.each(ROUNDS)(
      'agree on the claims of the first; the others get claims_mismatch, round %i',
      async (round) => {
        const name = `io.acme/same-${round}`;
        const replies = await Promise.all(
          clients.map(({ version, team }) =>
            unlessBusy(() => member(team).post('/v1/entries', body(name, version, { org: 'acme', team }))),
          ),
        );
        const accepted = clients.filter((_client, index) => replies[index]?.status === 201);
        for (const reply of replies.filter(({ status }) => status !== 201))
          expectRefused(reply, 400, 'claims_mismatch');
        const [winner = ''] = accepted.map(({ team }) => team);
        expect(accepted).toEqual(clients.filter(({ team }) => team === winner));
        const claims = { org: 'acme', team: winner };
        for (const reply of replies) if (reply.status === 201) expect(reply.json).toMatchObject({ claims });
        const entry = await entryOf(name, type);
        expect(entry?.claims).toEqual(claims);
        expect(entry?.versions.map(({ version }) => version).sort()).toEqual(
          accepted.map(({ version }) => version).sort(),
        );
        if (entry) expectOneLatest(entry, accepted.at(-1)?.version ?? '');
        const rows = await service.database.query<{ entries: number; latest: number }>(
          `select count(distinct e.id)::int as entries, count(*) filter (where v.is_latest)::int as latest
       from entry e join entry_version v on v.entry_id = e.id where e.name = $1 and e.type = $2`,
          [name, type],
        );
        expect(rows).toEqual([{ entries: 1, latest: 1 }]);
      },
    );

    it('create a version once; the others get version_exists', async () => {
      const claims = { org: 'acme', team: 'platform' };
      const replies = await Promise.all(
        clients.map(() =>
          unlessBusy(() => member('platform').post('/v1/entries', body('io.acme/one', '1.0.0', claims))),
        ),
      );
      const refused = replies.filter(({ status }) => status !== 201);
      expect(refused).toHaveLength(CLIENTS - 1);
      for (const reply of refused) expectRefused(reply, 409, 'version_exists');
    });
  },
);

describe('concurrent changes to one name', () => {
  const before = { org: 'acme', team: 'before' };
  const after = { org: 'acme', team: 'after' };

  it.each<[string, readonly Action[]]>([
    [
      'delete against publish',
      [
        { remove: '1.0.0' },
        { publish: '1.1.0', claims: after },
        { publish: '1.2.0', claims: before },
        { remove: '1.0.0' },
      ],
    ],
    [
      'claims update against publish',
      [
        { relabel: after },
        { publish: '1.1.0', claims: before },
        { publish: '1.2.0', claims: after },
        { publish: '1.2.0', claims: before },
      ],
    ],
    [
      'delete against claims update and publish',
      [
        { remove: '1.0.0' },
        { relabel: after },
        { publish: '1.0.0', claims: before },
        { publish: '1.1.0', claims: after },
      ],
    ],
  ])(`are serializable: %s, ${RACES} times`, async (what, actions) => {
    const outcomes = new Set<string>();
    for (let first = 0; first < RACES; first += AT_ONCE) {
      const races = Array.from({ length: AT_ONCE }, async (_, index) => {
        const name = `io.acme/${what.replaceAll(' ', '-')}-${first + index}`;
        expect((await publish(everyTeam(), name, '1.0.0', before)).status).toBe(201);
        const turn = index + first / AT_ONCE;
        return race(
          name,
          rotated(actions, turn),
          { claims: before, versions: ['1.0.0'] },
          // The first two run the actions one at a time, in different orders.
          index < 2 ? 'every answer' : index - 2,
        );
      });
      for (const outcome of await Promise.all(races)) outcomes.add(outcome);
    }
    // More than one outcome shows that the order varied.
    expect(outcomes.size).toBeGreaterThan(1);
    expect(
      await service.database.query(`select e.name from entry e where not exists
           (select 1 from entry_version v where v.entry_id = e.id)`),
    ).toEqual([]);
  });

  /**
   * Runs all actions concurrently, with one started some milliseconds earlier or each started after the previous
   * response, so that the order varies on every machine. Checks that responses and final state are serializable, and
   * returns them as text.
   */
  async function race(
    name: string,
    actions: readonly Action[],
    begin: Published,
    headStart: number | 'every answer',
  ): Promise<string> {
    const sent: Promise<Reply>[] = [];
    for (const action of actions) {
      const answer = take(action, name);
      sent.push(answer);
      if (headStart === 'every answer') await answer;
      else if (sent.length === 1) await pause(headStart);
    }
    const answers: Answered[] = await Promise.all(
      actions.map(async (action, index) => {
        const reply = (await sent[index]) as Reply;
        if (reply.status === 400) expectRefused(reply, 400, 'claims_mismatch');
        return { action, status: reply.status };
      }),
    );
    const entry = await entryOf(name);
    const end = entry && {
      claims: entry.claims,
      versions: entry.versions.map(({ version }) => version),
    };
    if (!isSerializable(begin, answers, end))
      expect.fail(`No order of these explains ${JSON.stringify({ answers, end })}`);
    if (entry) expectOneLatest(entry, [...(end?.versions ?? [])].sort().at(-1) ?? '');
    return JSON.stringify([
      end,
      answers.map(({ action, status }) => JSON.stringify([action, status])).sort(),
    ]);
  }

  function take(action: Action, name: string): Promise<Reply> {
    const path = `/v1/entries/server/${encodeURIComponent(name)}`;
    if ('publish' in action) return publish(everyTeam(), name, action.publish, action.claims);
    return unlessBusy(() =>
      'remove' in action
        ? everyTeam().delete(`${path}/versions/${action.remove}`)
        : everyTeam().put(`${path}/claims`, { claims: action.relabel }),
    );
  }

  function publish(sender: Sender, name: string, version: string, claims: Claims): Promise<Reply> {
    return unlessBusy(() => sender.post('/v1/entries', { server: aServer(name, version), claims }));
  }
});

/** Rotates the list, so that each action goes first in turn. */
function rotated<T>(items: readonly T[], by: number): T[] {
  return items.map((_item, index) => items[(index + by) % items.length] as T);
}
