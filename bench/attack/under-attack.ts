import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { SEES_ALL } from '../data/catalogue.js';
import type { Child } from '../harness/child.js';
import { atMost, type Figure, reportedOnly } from '../harness/figure.js';
import { say } from '../harness/report.js';
import { median, percentile } from '../harness/rounds.js';
import { listPath, type ServiceOptions, startService } from '../harness/service.js';
import type { Catalogue, Stage } from '../harness/stage.js';
import {
  addressOf,
  ATTACKERS_NAMES,
  type ATTACKS,
  largeDocument,
  newClaimSet,
  statusOf,
  type Target,
  TEAMS,
} from './attacks.js';
import { type Seen, timed, watch } from './caller.js';
import { type SlowIntrospection, startSlowIntrospection } from './slow-introspection.js';

const MIB = 2 ** 20;
const LIST = listPath({ limit: 30 });
/** Size of the attacked catalog. It is separate, so that the attacker's leftovers affect no other benchmark. */
const VERSIONS = 20_000;
const LARGE_DOCUMENTS = 20;
const AT_ONCE = 8;
const MOST_CLAIM_SETS = 8_000;
const MEMORY_EVERY_MS = 250;
/** Time to absorb the initial burst of half-sent bodies, slow readers, connections or forged tokens. */
const BEGINNING_SECONDS = 5;
const MANIFEST = new URL('../../../deploy/kubernetes/registry.yaml', import.meta.url);

type Attack = keyof typeof ATTACKS;

interface Bench {
  readonly stage: Stage;
  readonly service: Child;
  readonly target: Target;
  readonly quick: boolean;
}

interface Round {
  readonly attack: Attack;
  readonly versions: number;
  /** Runs before anything is measured. */
  readonly setUp?: (bench: Bench) => Promise<void>;
  /** Starts the attack before it is measured. */
  readonly begin?: (bench: Bench) => Promise<void>;
  /** Runs after the attack, before the caller is measured again. */
  readonly after?: { readonly row: string; readonly act: (bench: Bench) => Promise<void> };
  readonly isIntrospected?: boolean;
}

/**
 * Measures how much an attacker with one address slows down others: list times of a caller with another address
 * and token, without and during each attack. An attack makes 20 requests a second by default; an initial burst has
 * separate figures. The service runs with the heap size of the shipped manifest.
 * @param only names of the attacks to measure; undefined: all.
 */
export async function measureUnderAttack(
  stage: Stage,
  quick: boolean,
  only: readonly string[] | undefined,
): Promise<Figure[]> {
  const large = quick ? VERSIONS : 1_000_000;
  const all: Round[] = [
    { attack: 'nested bodies', versions: VERSIONS },
    { attack: 'half-sent bodies', versions: VERSIONS },
    { attack: 'slow readers', versions: VERSIONS, setUp: publishLargeDocuments },
    { attack: 'connections left open', versions: VERSIONS },
    { attack: 'made-up tokens', versions: VERSIONS, isIntrospected: true },
    { attack: '5 searches a second', versions: large },
    { attack: '40 searches a second', versions: large },
    { attack: 'changes of one name', versions: VERSIONS },
    {
      attack: 'claim sets',
      versions: VERSIONS,
      begin: makeClaimSets,
      after: { row: 'claim sets, deleted again', act: deleteEntries },
    },
  ];
  const figures: Figure[] = [];
  for (const round of all.filter(({ attack }) => only?.includes(attack) ?? true)) {
    say(`under attack: ${round.attack}`);
    figures.push(...(await measure(stage, await stage.catalogue(round.versions, 200), round, quick)));
  }
  return figures;
}

async function measure(stage: Stage, catalogue: Catalogue, round: Round, quick: boolean): Promise<Figure[]> {
  // p99 needs hundreds of requests: of 100, it is the second slowest, and varies by a factor of two without an attack.
  const seconds = quick ? 10 : 20;
  const introspection = round.isIntrospected ? await startSlowIntrospection(SEES_ALL) : undefined;
  const service = await startService(stage, catalogue, await optionsOf(introspection));
  const attacker = { sub: 'mallory', org: 'acme', team: ['everybody', ...TEAMS], job: 'publisher' };
  const target = { port: Number(new URL(service.url).port), token: stage.issuer.tokenOf(attacker) };
  const bench = { stage, service, target, quick };
  const token = introspection ? 'valid-and-known' : stage.issuer.tokenOf({ ...SEES_ALL, sub: 'wanda' });
  await round.setUp?.(bench);
  await watch(service, LIST, token, 2);
  const memory = watchMemory(service);
  const alone = await watch(service, LIST, token, seconds);
  await round.begin?.(bench);
  const thread = new Worker(new URL('./attacker.js', import.meta.url), {
    workerData: { attack: round.attack, target },
  });
  const beginning = await watch(service, LIST, token, BEGINNING_SECONDS);
  const attacked = await watch(service, LIST, token, seconds);
  const newcomer = introspection && (await timed(service.url + LIST, asNewcomer()));
  await thread.terminate();
  const figures = [
    ...figuresOf(round.attack, alone, attacked),
    ...figuresOfBeginning(`${round.attack}, its first ${BEGINNING_SECONDS} s`, alone, beginning),
    one(round.attack, 'highest RSS in MiB', (await memory()) / MIB, atMost(400)),
    one(round.attack, 'exits of the service', service.hasEnded ? 1 : 0, atMost(0)),
  ];
  if (newcomer)
    figures.push(
      one(round.attack, 'ms of an uncached valid token', newcomer.ms, reportedOnly, `${newcomer.status}`),
    );
  if (round.after && !service.hasEnded) {
    await round.after.act(bench);
    figures.push(...figuresOf(round.after.row, alone, await watch(service, LIST, token, seconds)));
  }
  await service.stop();
  introspection?.stop();
  return figures;
}

/**
 * Polls, because a service that has exited reports nothing. The returned function stops and returns the
 * maximum.
 */
function watchMemory(service: Child): () => Promise<number> {
  let highest = 0;
  const look = async () => {
    const usage = await service.usage().catch(() => undefined);
    highest = Math.max(highest, usage?.peak ?? 0);
  };
  let looking = look();
  const timer = setInterval(() => {
    looking = looking.then(look);
  }, MEMORY_EVERY_MS);
  return async () => {
    clearInterval(timer);
    await looking;
    await look();
    return highest;
  };
}

/** Figures of the initial burst: it must cause no failures; its times have no target. */
function figuresOfBeginning(row: string, alone: Seen, now: Seen): Figure[] {
  return figuresOf(row, alone, now).map((figure) =>
    figure.target === 0 ? figure : { ...figure, ...reportedOnly },
  );
}

function figuresOf(row: string, alone: Seen, now: Seen): Figure[] {
  const p50 = (seen: Seen) => median(seen.times);
  const p99 = (seen: Seen) => percentile(seen.times, 0.99);
  const note = (of: (seen: Seen) => number) => `${of(now).toFixed(1)} ms, alone ${of(alone).toFixed(1)} ms`;
  const slowest = (seen: Seen) => Math.max(...seen.health);
  return [
    one(row, 'p50 of a list / p50 alone', p50(now) / p50(alone), reportedOnly, note(p50)),
    one(row, 'p99 of a list / p99 alone', p99(now) / p99(alone), atMost(5), note(p99)),
    one(row, '503 for the well-behaved', now.overloaded, atMost(0), `of ${now.times.length}`),
    one(row, 'other failures for the well-behaved', now.failed, atMost(0), `of ${now.times.length}`),
    one(row, 'slowest /health in ms', slowest(now), atMost(500), `alone ${slowest(alone).toFixed(0)} ms`),
  ];
}

function one(
  row: string,
  measure: string,
  value: number,
  judged: typeof reportedOnly,
  note?: string,
): Figure {
  return {
    row: `under attack: ${row}`,
    measure,
    value,
    ...judged,
    rounds: [value],
    ...(note ? { note } : {}),
  };
}

async function optionsOf(introspection: SlowIntrospection | undefined): Promise<ServiceOptions> {
  return {
    roles: { manageEntries: [{ job: 'publisher' }] },
    nodeArguments: [`--max-old-space-size=${await shippedHeapMiB()}`],
    ...(introspection ? { provider: { introspectionUrl: introspection.introspectionUrl } } : {}),
  };
}

/** The manifest's heap size, or Node's default of half the memory limit. */
async function shippedHeapMiB(): Promise<number> {
  const manifest = await readFile(MANIFEST, 'utf8');
  const said = /--max-old-space-size=(\d+)/.exec(manifest)?.[1];
  const limit = /limits:.*memory: (\d+)Mi/.exec(manifest)?.[1];
  if (limit === undefined) throw new Error('The manifest limits no memory');
  return said === undefined ? Number(limit) / 2 : Number(said);
}

function asNewcomer(): Parameters<typeof timed>[1] {
  return { ...addressOf(3), agent: false, headers: { authorization: 'Bearer valid-and-new' } };
}

async function publishLargeDocuments({ target }: Bench): Promise<void> {
  const claims = { org: 'acme', team: ['everybody', 't-0'] };
  for (let number = 0; number < LARGE_DOCUMENTS; number += 1) {
    const status = await statusOf({
      ...target,
      method: 'POST',
      path: '/v1/entries',
      body: { server: largeDocument(number), claims },
    });
    if (status !== 201) throw new Error(`A large document was answered with ${status}`);
  }
}

/** Creates as many claim sets as time allows. */
async function makeClaimSets({ target, quick }: Bench): Promise<void> {
  const end = performance.now() + (quick ? 10_000 : 120_000);
  let made = 0;
  const makes = async () => {
    while (made < MOST_CLAIM_SETS && performance.now() < end)
      await newClaimSet(target, (made += 1)).catch(() => undefined);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, makes));
  say(`requested ${made} claim sets`);
}

async function deleteEntries({ service, target }: Bench): Promise<void> {
  const { entries } = JSON.parse(await service.get('/v1/entries', target.token)) as {
    entries: readonly { readonly name: string }[];
  };
  for (const { name } of entries) {
    if (!name.startsWith(ATTACKERS_NAMES)) continue;
    const path = `/v1/entries/server/${encodeURIComponent(name)}/versions/1.0.0`;
    await statusOf({ ...target, method: 'DELETE', path });
  }
}
