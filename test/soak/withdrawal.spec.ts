import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACME_DATA, ACME_PLATFORM, SUPER_ADMIN } from '../support/callers.js';
import type { Reply, Sender } from '../support/http.js';
import { anIssuer } from '../support/issuer.js';
import { ROLES } from '../support/load/catalogue.js';
import { rsToken } from '../support/load/callers.js';
import { type Replicas, startReplicas } from '../support/two-replicas.js';
import { type Seen, type Sight, Watch } from '../support/load/watch.js';
import { MARKS, prepareWithdrawals, relabelForAll, withdrawals } from '../support/load/withdrawals.js';

const CONNECTIONS = 200;
/** How often an entry gets new claims that all readers hold. */
const ROUNDS = 100;
/** Tolerated lateness of a response; the service itself guarantees that no response is late. */
const LATE_MS = 1_000;

describe('withdrawn access while 200 connections read from two replicas', () => {
  const issuer = anIssuer().runs();
  let replicas: Replicas;
  let sights: Sight[];
  let watch: Watch;

  const manager = (replica: number) => replicas.both[replica % 2]?.as(SUPER_ADMIN) as Sender;

  beforeAll(async () => {
    replicas = await startReplicas(issuer, ROLES);
    sights = await prepareWithdrawals(replicas);
    const tokens = Array.from({ length: CONNECTIONS }, (_, index) =>
      rsToken(issuer, {
        ...(index % 2 === 0 ? ACME_PLATFORM : ACME_DATA),
        sub: `reader-${index}`,
        round: Array.from({ length: ROUNDS }, (_, round) => round),
      }),
    );
    watch = new Watch(
      replicas.both.map(({ origin }) => origin),
      tokens,
      sights,
      MARKS,
    );
    watch.begin();
    await watch.allSeenSince(0, sights);
  });
  afterAll(async () => {
    await watch.end();
    await replicas.stop();
  });

  it.each(withdrawals(() => replicas.folder).map((withdrawal, turn) => ({ ...withdrawal, turn })))(
    'is missing, and nothing else is, from responses begun after $what was acknowledged',
    async ({ gone, from, turn, withdraw, giveBack }) => {
      const isAffected = ({ registry, marks }: Sight) =>
        from.includes(registry) && marks.some((mark) => gone.includes(mark));
      const affected = sights.filter(isAffected);
      const before = watch.seen.length;
      const withdrawn = await acknowledged(() => withdraw(manager(turn)));
      await watch.allSeenSince(withdrawn.ended + LATE_MS, affected);
      const restored = await acknowledged(() => giveBack(manager(turn + 1)));
      await watch.allSeenSince(restored.ended, affected);

      const seen = watch.seen.slice(before);
      const hidden = seen.filter(({ began, ended }) => began >= withdrawn.ended && ended <= restored.began);
      const shown = (answers: readonly Seen[]) =>
        answers.filter(({ sight, marks }) => isAffected(sight) && marks.some((mark) => gone.includes(mark)));
      const late = hidden.filter(({ began }) => began >= withdrawn.ended + LATE_MS);
      expect(described(shown(late), withdrawn.ended), 'a second after the acknowledgement').toEqual([]);
      expect(described(shown(hidden), withdrawn.ended), 'since the acknowledgement').toEqual([]);
      expect(late.filter(({ sight }) => isAffected(sight)).length).toBeGreaterThanOrEqual(affected.length);

      expect(described(lacking(seen, gone, from), withdrawn.ended), 'everything not withdrawn').toEqual([]);
      const after = seen.filter(({ began }) => began >= restored.ended);
      expect(described(lacking(after), restored.ended), 'everything restored').toEqual([]);
    },
  );

  it('does not interrupt entries whose new claims all readers hold', async () => {
    const before = watch.seen.length;
    const began = performance.now();
    // Does not pause, so that caches are short-lived and each read overlaps a change.
    for (let round = 0; round < ROUNDS; round += 1)
      await acknowledged(() => relabelForAll(manager(round), round));
    await watch.allSeenSince(performance.now(), sights);
    // Reads that began during the case before may still have found its refusals.
    const since = watch.seen.slice(before).filter((seen) => seen.began >= began);
    expect(described(lacking(since), began)).toEqual([]);
  });
});

/** The reads that lack a marker of their view, except for these markers in these registries. */
function lacking(
  answers: readonly Seen[],
  except: readonly string[] = [],
  registries: readonly string[] = [],
): Seen[] {
  return answers.filter(({ sight, marks }) =>
    sight.marks.some(
      (mark) => !marks.includes(mark) && !(registries.includes(sight.registry) && except.includes(mark)),
    ),
  );
}

async function acknowledged(change: () => Promise<Reply>): Promise<{ began: number; ended: number }> {
  const began = performance.now();
  const reply = await change();
  const ended = performance.now();
  expect({ status: reply.status, text: reply.text }).toMatchObject({
    status: expect.toBeOneOf([200, 201, 204]),
  });
  return { began, ended };
}

function described(answers: readonly Seen[], since: number): string[] {
  return answers
    .slice(0, 10)
    .map(
      ({ sight, status, marks, began }) =>
        `${status} to ${sight.path}, begun after ${Math.round(began - since)} ms: ${marks.join()}`,
    );
}
