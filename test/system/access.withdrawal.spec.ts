import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unlessBusy } from '../support/answers.js';
import { ACME_DATA, SUPER_ADMIN } from '../support/callers.js';
import type { Headers, Sender } from '../support/http.js';
import { anIssuer } from '../support/issuer.js';
import { ROLES } from '../support/load/catalogue.js';
import { type Replicas, startReplicas } from '../support/two-replicas.js';
import type { Sight } from '../support/load/watch.js';
import { MARKS, prepareWithdrawals, withdrawals } from '../support/load/withdrawals.js';

// `npm run soak` repeats this with 200 reading connections.
describe('data withdrawn through one of two replicas', () => {
  const issuer = anIssuer().runs();
  let replicas: Replicas;
  let sights: Sight[];
  /** The last read, made after everything was restored. */
  let known: Read[] | undefined;

  beforeAll(async () => {
    replicas = await startReplicas(issuer, ROLES);
    sights = await prepareWithdrawals(replicas);
  });
  afterAll(() => replicas.stop());

  const writer = () => replicas.both[0]?.as(SUPER_ADMIN) as Sender;

  it.each(withdrawals(() => replicas.folder))(
    'is hidden by both after $what, even from caches, until it is restored',
    async ({ gone, from, withdraw, giveBack }) => {
      const before = known ?? (await readAll());
      known = undefined;
      for (const { sight, marks } of before) expect(marks, sight.path).toEqual(sight.marks);
      expect((await withdraw(writer())).status).toBeOneOf([200, 201, 204]);
      for (const { sight, status, marks } of await readAll(before)) {
        const hidden = from.includes(sight.registry) ? gone : [];
        const left = sight.marks.filter((mark) => !hidden.includes(mark));
        expect({ path: sight.path, marks: marks.filter((mark) => hidden.includes(mark)) }).toEqual({
          path: sight.path,
          marks: [],
        });
        expect(marks, sight.path).toEqual(expect.arrayContaining(left));
        if (left.length < sight.marks.length) expect(status, sight.path).not.toBe(304);
      }
      expect((await giveBack(writer())).status).toBeOneOf([200, 201, 204]);
      const after = await readAll(before);
      for (const { sight, marks } of after) expect(marks, sight.path).toEqual(sight.marks);
      known = after;
    },
  );

  interface Read {
    readonly sight: Sight;
    readonly status: number;
    readonly marks: readonly string[];
    readonly etag: string;
  }

  /** Reads everything from each replica, with the ETags of the previous read. */
  async function readAll(before: readonly Read[] = []): Promise<Read[]> {
    const asked = replicas.both.flatMap((replica) =>
      sights.map((sight) => ({ reader: replica.as(ACME_DATA), sight })),
    );
    return Promise.all(
      asked.map(async ({ reader, sight }, index) => {
        const known = before[index];
        const headers: Headers = known ? { 'If-None-Match': known.etag } : {};
        const reply = await unlessBusy(() => reader.get(sight.path, headers));
        // The client keeps showing its cached response after a 304.
        const marks =
          reply.status === 304 && known ? known.marks : MARKS.filter((mark) => reply.text.includes(mark));
        return { sight, status: reply.status, marks, etag: String(reply.headers['etag']) };
      }),
    );
  }
});
