import { randomInt } from 'node:crypto';
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { SyncJournal } from '../support/sync-journal.js';
import { type Listing, type Shown, textOf, keyOf } from '../support/day-content.js';
import { CLAIM_SETS, DayNamespace, DayPublished } from '../support/day-published.js';
import { DayReplica, processesIn, type Vitals } from '../support/day-replica.js';
import {
  DayFile,
  DayRegistry,
  DayRepository,
  DaySite,
  type DayUpstream,
  DayUrl,
} from '../support/day-upstreams.js';
import type { Document } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { aGitServer } from '../support/git-server.js';
import { aCluster } from '../support/kubernetes-api.js';
import { Random } from '../support/random.js';
import { anUpstreamRegistry, OFFICIAL } from '../support/upstream-registry.js';
import { within } from '../support/within.js';

const RUNS = Number(process.env['DAY_RUNS'] ?? 10_000);
const TICK_MS = 100;
const A_WHILE = 60_000;
/** Heap growth allowed between the first quarter of the day and its end. */
const HEAP_MARGIN = 8 * 1024 * 1024;
const HANDLES_MARGIN = 8;
/** How many memory samples to take, one second apart. */
const SAMPLES = 8;
const POOL = 10;
const TWO_HOURS_S = 2 * 60 * 60;

const FILES = 17;
const URLS = 18;
const REGISTRIES = 8;
const REPOSITORIES = 4;
const NAMESPACES = 2;

// A failure prints its seed: DAY_SEED=… npx vitest run test/soak/sync-day.spec.ts draws the same events, though their timing varies.
const seed = Number(process.env['DAY_SEED'] ?? randomInt(2 ** 31));

describe(`a day of 50 sources in fast motion, DAY_SEED=${seed}`, () => {
  const random = new Random(seed);
  const folder = aFolder();
  const temporary = folder.file('tmp');
  const configuration = folder.file('registry.yaml');
  const site = new DaySite().runs();
  const cluster = aCluster().runs();
  const registries = Array.from({ length: REGISTRIES }, () => anUpstreamRegistry().runs());
  const repositories = Array.from({ length: REPOSITORIES }, () => aGitServer().runs());
  /** `lasting` lives from the first quarter to the end; the other replica is restarted. */
  let lasting: DayReplica;
  let restarted: DayReplica | undefined;
  let database: TestDatabase;
  let book: SyncJournal;
  const errors: string[] = [];

  const drawn = (name: string) => random.fork(name);
  const upstreams: DayUpstream[] = [
    ...Array.from({ length: FILES }, (_, n) => new DayFile(`file-${n}`, folder, drawn(`file-${n}`))),
    ...Array.from({ length: URLS }, (_, n) => new DayUrl(`url-${n}`, site, drawn(`url-${n}`))),
    ...registries.map((each, n) => new DayRegistry(`api-${n}`, each, drawn(`api-${n}`))),
    ...repositories.map((each, n) => new DayRepository(`git-${n}`, each, drawn(`git-${n}`))),
    ...Array.from({ length: NAMESPACES }, (_, n) => new DayNamespace(`ns-${n}`, cluster, drawn(`ns-${n}`))),
    new DayPublished('published', drawn('published'), () => lasting),
  ];

  const serve = () =>
    DayReplica.start(configuration, { TMPDIR: temporary, REGISTRY_KUBECONFIG: cluster.kubeconfig });

  beforeAll(async () => {
    database = await aDatabase();
    book = new SyncJournal(database);
    await book.open();
    mkdirSync(temporary);
    for (const upstream of upstreams) await upstream.recover();
    const all = upstreams.map((upstream) => upstream.name);
    writeFileSync(
      configuration,
      stringify({
        auth: { mode: 'anonymous' },
        sources: upstreams.map((upstream) => ({ name: upstream.name, ...upstream.declared() })),
        registries: [...all.map((each) => ({ name: each, sources: [each] })), { name: 'all', sources: all }],
        database: { ...database.connection, pool: { max: POOL } },
        limits: { changesPerMinute: 1_000_000 },
      }),
    );
    lasting = await serve();
    restarted = await serve();
  });
  afterAll(async () => {
    await Promise.all([lasting?.stop(), restarted?.stop()]);
    await database.drop();
  });

  async function listed(registry: string, replica: DayReplica): Promise<Listing> {
    const found = new Map<string, Shown>();
    for (let cursor = ''; ;) {
      const path = `/registry/${registry}/v0.1/servers?limit=100&include_deleted=true&cursor=${cursor}`;
      const reply = await replica.ask(path);
      expect(reply.status).toBe(200);
      const { servers, metadata } = reply.json as {
        servers: { server: Document; _meta: { [OFFICIAL]: { status: string; isLatest: boolean } } }[];
        metadata: { nextCursor?: string };
      };
      for (const { server, _meta } of servers) {
        const { status, isLatest } = _meta[OFFICIAL];
        found.set(keyOf(server), { server: comparable(server), status, isLatest });
      }
      if (!metadata.nextCursor) return found;
      cursor = encodeURIComponent(metadata.nextCursor);
    }
  }

  // Each source only moves forward; a failing source keeps showing its content from before the failure.
  const failing = new Map<DayUpstream, number>();
  const seen = new Map<DayUpstream, number>();
  const counted = { changes: 0, failures: 0, samples: 0, stops: 0, kills: 0 };

  async function sample(upstream: DayUpstream): Promise<void> {
    const { shelf } = upstream;
    const replica = restarted && random.chance(0.5) ? restarted : lasting;
    if (!shelf) return;
    const newest = failing.get(upstream) ?? null;
    const text = textOf(await listed(upstream.name, replica));
    const isStillFailing = failing.get(upstream) === newest;
    const shown = shelf.generations.lastIndexOf(text) + 1;
    expect(shown, `${upstream.name} shows one of its generations: ${text}`).toBeGreaterThan(0);
    expect(shown, `${upstream.name} moves forward`).toBeGreaterThanOrEqual(seen.get(upstream) ?? 0);
    if (newest !== null && isStillFailing)
      expect(shown, `${upstream.name} shows its content from before the failure`).toBeLessThanOrEqual(newest);
    seen.set(upstream, shown);
    counted.samples += 1;
  }

  async function happen(upstream: DayUpstream): Promise<void> {
    if (random.chance(0.6)) {
      await upstream.change();
      counted.changes += 1;
    } else if (failing.has(upstream)) {
      // Cleared first: from here on the upstream's current content may appear.
      failing.delete(upstream);
      await upstream.recover();
    } else if (failing.size < upstreams.length / 4) {
      await upstream.fail();
      failing.set(upstream, upstream.shelf?.generation ?? 0);
      counted.failures += 1;
    }
  }

  async function replaceMortal(end: 'stop' | 'kill'): Promise<void> {
    const before = restarted;
    restarted = undefined;
    if (end === 'stop') expect(await before?.stop()).toBe(0);
    else await before?.kill();
    counted[`${end}s`] += 1;
    errors.push(...(before?.errors() ?? []));
    restarted = await serve();
  }

  /** Vitals of the lasting replica when idle: the minimum of several samples, since connections linger. */
  async function measure(): Promise<Vitals & { openFiles: number }> {
    for (const upstream of failing.keys()) await upstream.recover();
    failing.clear();
    await book.rest();
    const looks: (Vitals & { openFiles: number })[] = [];
    for (let look = 0; look < SAMPLES; look += 1) {
      await pause(1_000);
      looks.push({ ...(await lasting.vitals()), openFiles: lasting.openFiles() });
    }
    const least = (of: (look: (typeof looks)[0]) => number) =>
      looks.reduce((one, other) => (of(other) < of(one) ? other : one));
    return {
      ...least((look) => look.heapUsed),
      openFiles: least((look) => look.openFiles).openFiles,
      resources: least((look) => look.resources.length).resources,
    };
  }

  async function theDay(): Promise<Vitals & { openFiles: number }> {
    let quarter: (Vitals & { openFiles: number }) | undefined;
    const pauseAtQuarter = async () => {
      quarter = await measure();
      await book.wake();
    };
    const restarts: [part: number, end: 'stop' | 'kill'][] = [
      [0.05, 'kill'],
      [0.35, 'stop'],
      [0.45, 'kill'],
      [0.55, 'stop'],
      [0.65, 'kill'],
      [0.8, 'stop'],
    ];
    // Restarts run alongside the day.
    const trouble: unknown[] = [];
    let restarting: Promise<void> | undefined;
    for (let runs = 0; runs < RUNS || restarts.length > 0 || restarting; runs = await book.runs()) {
      if (trouble.length > 0) throw trouble[0];
      const [next] = restarts;
      if (!quarter && runs >= RUNS / 4) await pauseAtQuarter();
      if (next && !restarting && runs >= RUNS * next[0]) {
        restarts.shift();
        restarting = replaceMortal(next[1])
          .catch((error: unknown) => void trouble.push(error))
          .finally(() => void (restarting = undefined));
      }
      for (const upstream of random.some(upstreams, 0.05)) await happen(upstream);
      for (const upstream of random.some(upstreams, 0.05)) await sample(upstream);
      await book.press(0.25);
      await pause(TICK_MS);
    }
    if (!quarter) throw new Error('The day had no first quarter');
    return quarter;
  }

  /** Reads each source of these kinds in full once more. */
  async function allAreRead(...kinds: string[]): Promise<void> {
    const since = await book.now();
    await within(A_WHILE, async () => {
      const unread = await book.unread(since, kinds);
      await book.press(unread);
      await pause(TICK_MS);
      expect(unread).toEqual([]);
    });
  }

  it(`ends with exactly the upstreams' content after ${RUNS} runs`, async () => {
    const began = performance.now();
    const quarter = await theDay();
    const seconds = (performance.now() - began) / 1_000;
    for (const upstream of upstreams) {
      await upstream.recover();
      await upstream.change();
    }
    failing.clear();
    await allAreRead('file', 'api', 'git');

    for (const upstream of upstreams)
      await within(A_WHILE, async () =>
        expect(await listed(upstream.name, lasting), upstream.name).toEqual(upstream.listing),
      );
    expect(await listed('all', lasting)).toEqual(merged(upstreams));
    const held = upstreams.reduce((sum, { listing }) => sum + listing.size, 0);
    expect(await book.versions()).toBe(held);
    await book.rest();
    // The state of a watch follows its writes.
    await within(A_WHILE, async () => expect(await book.faults()).toEqual([]));
    expect(await book.claimSets()).toBeLessThanOrEqual(1 + CLAIM_SETS);

    const end = await measure();
    const summary = await book.summary();
    const figures = {
      ...summary,
      ...counted,
      versions: held,
      perSecond: Math.round(RUNS / seconds),
      cpuSeconds: Math.round(end.cpuMs / 1_000),
      heapMB: [quarter.heapUsed, end.heapUsed].map(inMB),
      externalMB: [quarter.external, end.external].map(inMB),
      openFiles: [quarter.openFiles, end.openFiles],
      resources: [quarter.resources.length, end.resources.length],
      connections: await book.connections(),
      leftByKills: readdirSync(temporary).length,
    };
    console.info(`DAY_SEED=${seed}: ${inspect(figures, { breakLength: 110 })}`);
    expect(summary).toMatchObject({ thefts: 0, sources: FILES + URLS + REGISTRIES + REPOSITORIES });
    expect(summary.failed).toBeGreaterThan(RUNS / 100);
    expect(end.heapUsed - quarter.heapUsed, 'memory').toBeLessThan(HEAP_MARGIN);
    expect(end.external - quarter.external, 'buffer memory').toBeLessThan(HEAP_MARGIN);
    expect(end.openFiles - quarter.openFiles, 'open files').toBeLessThanOrEqual(HANDLES_MARGIN);
    expect(end.resources.length - quarter.resources.length, end.resources.join()).toBeLessThanOrEqual(
      HANDLES_MARGIN,
    );
    expect(await book.connections()).toBeLessThanOrEqual(2 * POOL);
    expect(processesIn(temporary)).toEqual([]);

    expect([await lasting.stop(), await restarted?.stop()]).toEqual([0, 0]);
    // PostgreSQL notices the end of a process later than the test.
    await within(A_WHILE, async () => expect(await book.connections()).toBe(0));
    expect([...errors, ...lasting.errors(), ...(restarted?.errors() ?? [])]).toEqual([]);
    await leavesNoFiles();
  });

  // A later service sweeps the git directories of a killed one, once they are old enough to be abandoned.
  async function leavesNoFiles(): Promise<void> {
    const longAgo = Date.now() / 1_000 - TWO_HOURS_S;
    for (const name of readdirSync(temporary)) utimesSync(join(temporary, name), longAgo, longAgo);
    restarted = await serve();
    await allAreRead('git');
    await book.rest();
    expect(await restarted.stop()).toBe(0);
    expect(readdirSync(temporary)).toEqual([]);
  }
});

function inMB(bytes: number): number {
  return Math.round((bytes / 1024 / 1024) * 10) / 10;
}

/**
 * Expected content of a registry of all upstreams: for each name, the versions of the first source with it.
 */
function merged(upstreams: readonly DayUpstream[]): Listing {
  const owner = new Map<unknown, DayUpstream>();
  const all = new Map<string, Shown>();
  for (const upstream of upstreams)
    for (const [key, shown] of upstream.listing) {
      const { name } = shown.server;
      if (!owner.has(name)) owner.set(name, upstream);
      if (owner.get(name) === upstream) all.set(key, shown);
    }
  return all;
}

// Drops members of a cluster's document that are irrelevant here.
function comparable(server: Document): Document {
  const { name, version, description } = server;
  return String(name).startsWith('com.toolhive.k8s.') ? { name, version, description } : server;
}
