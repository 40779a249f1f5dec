import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACME_DATA, ACME_PLATFORM, SUPER_ADMIN } from '../support/callers.js';
import { aCatalogue } from '../support/documents.js';
import type { Reply, Sender } from '../support/http.js';
import { anIssuer } from '../support/issuer.js';
import { ROLES } from '../support/load/catalogue.js';
import { rsToken } from '../support/load/crowd.js';
import { type Replicas, startReplicas } from '../support/load/replicas.js';
import { type Seen, type Sight, Watch } from '../support/load/watch.js';
import {
  documentsIn,
  MARKS,
  PATHS,
  PUBLICATIONS,
  putFile,
  REGISTRIES,
  withdrawals,
} from '../support/load/withdrawals.js';
import { within } from '../support/within.js';

const CONNECTIONS = 200;
/** What is allowed as lateness of an answer; the service promises that none is late at all. */
const LATE_MS = 1_000;

describe('what is withdrawn while 200 connections read it from two replicas', () => {
  const issuer = anIssuer().runs();
  const fileOf = (source: string) => join(replicas.folder, `${source}.json`);
  let replicas: Replicas;
  let sights: Sight[];
  let watch: Watch;

  const manager = (replica: number) => replicas.both[replica % 2]?.as(SUPER_ADMIN) as Sender;

  beforeAll(async () => {
    replicas = await startReplicas(issuer, ROLES);
    await prepare(manager(0));
    sights = await Promise.all(PATHS.map(lookAt));
    const tokens = Array.from({ length: CONNECTIONS }, (_, index) =>
      rsToken(issuer, { ...(index % 2 === 0 ? ACME_PLATFORM : ACME_DATA), sub: `reader-${index}` }),
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

  it.each(withdrawals((source) => fileOf(source)).map((withdrawal, turn) => ({ ...withdrawal, turn })))(
    'is in no answer that began after $what was acknowledged, and nothing else is missed',
    async ({ gone, from, turn, withdraw, giveBack }) => {
      const isAffected = ({ registry, marks }: Sight) =>
        from.includes(registry) && marks.some((mark) => gone.includes(mark));
      const affected = sights.filter(isAffected);
      const before = watch.seen.length;
      const withdrawn = await acknowledged(() => withdraw(manager(turn)));
      await watch.allSeenSince(withdrawn.ended + LATE_MS, affected);
      const givenBack = await acknowledged(() => giveBack(manager(turn + 1)));
      await watch.allSeenSince(givenBack.ended, affected);

      const seen = watch.seen.slice(before);
      const hidden = seen.filter(({ began, ended }) => began >= withdrawn.ended && ended <= givenBack.began);
      const shown = (answers: readonly Seen[]) =>
        answers.filter(({ sight, marks }) => isAffected(sight) && marks.some((mark) => gone.includes(mark)));
      const late = hidden.filter(({ began }) => began >= withdrawn.ended + LATE_MS);
      expect(told(shown(late), withdrawn.ended), 'a second after the acknowledgement').toEqual([]);
      expect(told(shown(hidden), withdrawn.ended), 'since the acknowledgement').toEqual([]);
      expect(late.filter(({ sight }) => isAffected(sight)).length).toBeGreaterThanOrEqual(affected.length);

      const lacking = (answers: readonly Seen[], except: readonly string[]) =>
        answers.filter(({ sight, marks }) =>
          sight.marks.some(
            (mark) => !marks.includes(mark) && !(from.includes(sight.registry) && except.includes(mark)),
          ),
        );
      expect(told(lacking(seen, gone), withdrawn.ended), 'what was not withdrawn').toEqual([]);
      const after = seen.filter(({ began }) => began >= givenBack.ended);
      expect(told(lacking(after, []), givenBack.ended), 'what was given back').toEqual([]);
    },
  );

  async function prepare(superAdmin: Sender): Promise<void> {
    await superAdmin.put('/v1/sources/published', { managed: {} });
    for (const source of ['filed', 'other'] as const) {
      const documents = (['server', 'skill'] as const).map((type) => documentsIn(source, type));
      await writeFile(fileOf(source), JSON.stringify(aCatalogue(...(documents as [object[], object[]]))));
      await putFile(superAdmin, source, fileOf(source));
    }
    for (const publication of PUBLICATIONS) await superAdmin.post('/v1/entries', publication);
    for (const [name, sources] of Object.entries(REGISTRIES))
      await superAdmin.put(`/v1/registries/${name}`, { sources });
  }

  /** A way of reading, and the marks it shows once the files are synced: each shows at least one. */
  async function lookAt(way: (typeof PATHS)[number]): Promise<Sight> {
    let marks: readonly string[] = [];
    const reader = replicas.both[0]?.as(ACME_PLATFORM);
    await within(30_000, async () => {
      const text = (await reader?.get(way.path))?.text ?? '';
      marks = MARKS.filter((mark) => text.includes(mark));
      expect(marks, way.path).not.toEqual([]);
    });
    return { ...way, marks };
  }
});

async function acknowledged(change: () => Promise<Reply>): Promise<{ began: number; ended: number }> {
  const began = performance.now();
  const reply = await change();
  const ended = performance.now();
  expect({ status: reply.status, text: reply.text }).toMatchObject({
    status: expect.toBeOneOf([200, 201, 204]),
  });
  return { began, ended };
}

function told(answers: readonly Seen[], since: number): string[] {
  return answers
    .slice(0, 10)
    .map(
      ({ sight, status, marks, began }) =>
        `${status} to ${sight.path}, begun after ${Math.round(began - since)} ms: ${marks.join()}`,
    );
}
