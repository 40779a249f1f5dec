import { stringify } from 'yaml';
import { expect, it } from 'vitest';
import { aDatabase } from '../support/database.js';
import { DayReplica } from '../support/day-replica.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { aWebhookSecret, Receiver } from '../support/receiver.js';
import { inSoak } from '../support/soak.js';
import { within } from '../support/within.js';

/** A release is tested with 10,000. */
const CHANGES = Number(process.env['WEBHOOK_CHANGES'] ?? inSoak(240, 60));
const NAMES = Array.from({ length: 12 }, (_, at) => `com.acme/c${at}`);
const KILLS = inSoak(4, 1);

const folder = aFolder();
const receiver = new Receiver().runs();

it('delivers every event, in order for each entry, while the replicas are killed in turn', async () => {
  const database = await aDatabase();
  const configuration = folder.write(
    'registry.yaml',
    stringify({
      auth: { mode: 'anonymous' },
      database: database.connection,
      sources: [{ name: 'published', managed: {} }],
      registries: [{ name: 'main', sources: ['published'] }],
      limits: { changesPerMinute: 1_000_000 },
      webhooks: [
        {
          name: 'siem',
          url: receiver.url,
          secretFile: folder.write('secret', aWebhookSecret()),
          actions: ['entry.publish'],
        },
      ],
    }),
  );
  const start = () => DayReplica.start(configuration, {});
  const replicas: [DayReplica, DayReplica] = await Promise.all([start(), start()]);
  let [done, turn] = [0, 0];
  /** A killed replica may have committed the change without sending a response. */
  const publish = async (name: string, version: string) => {
    for (;;) {
      const replica = replicas[(turn += 1) % 2] as DayReplica;
      const body = { server: aServer(name, version) };
      const status = await replica.ask('/v1/entries', 'POST', body).then(
        (reply) => reply.status,
        () => 0,
      );
      if (status === 201 || status === 409) break;
      expect([0, 503]).toContain(status);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    done += 1;
  };
  const each = Math.ceil(CHANGES / NAMES.length);
  const publishing = Promise.all(
    NAMES.map(async (name) => {
      for (let number = 1; number <= each; number += 1) await publish(name, `${number}.0.0`);
    }),
  );
  for (let kill = 0; kill < KILLS; kill += 1) {
    await within(60_000 + 100 * CHANGES, () =>
      expect(done).toBeGreaterThanOrEqual((each * NAMES.length * (kill + 1)) / (KILLS + 2)),
    );
    await replicas[kill % 2]?.kill();
    replicas[kill % 2] = await start();
  }
  await publishing;
  const all = each * NAMES.length;
  const ids = () => new Set(receiver.deliveries.map(({ event }) => event.id));
  await within(60_000, () => expect(ids().size).toBe(all));
  for (const name of NAMES) {
    let last = 0;
    for (const { event } of receiver.deliveries.filter((one) => one.event.data.target.name === name)) {
      const number = Number.parseInt(event.data.target.version ?? '', 10);
      // A message that is repeated is followed by those after it.
      expect(number, `${name} after ${last}`).toBeLessThanOrEqual(last + 1);
      last = Math.max(last, number);
    }
    expect(last).toBe(each);
  }
  const duplicates = receiver.deliveries.length - all;
  process.stdout.write(`${all} events delivered after ${KILLS} kills, ${duplicates} of them again\n`);
  expect(duplicates).toBeLessThan(KILLS * 200);
  await Promise.all(replicas.map((replica) => replica.stop()));
  await database.drop();
});
