import { SEES_ALL } from './data/catalogue.js';
import type { Child } from './harness/child.js';
import { type CollectorKind, COLLECTORS, startCollector } from './harness/collector.js';
import { atLeast, type Figure, figure, toldOnly } from './harness/figure.js';
import { type UnderLoad, underLoad } from './harness/measured-load.js';
import { publicationsPerSecond } from './harness/publications.js';
import { say } from './harness/report.js';
import { rounds } from './harness/rounds.js';
import { listPath, startService, SUPER_ADMIN } from './harness/service.js';
import type { Stage } from './harness/stage.js';

const CONNECTIONS = 30;
const UNCOUNTED = new URL('./harness/uncounted.js', import.meta.url).href;
const UNAUDITED = new URL('./harness/unaudited.js', import.meta.url).href;
const PUBLICATIONS_AT_ONCE = 4;
/** How often both of a pair are started anew: what V8 has made of a process is a tenth faster or slower from one to the next, and for good. */
const PROCESSES = 3;

/** What is measured against what. */
const PAIRS = {
  shipped: 'without',
  good: 'without',
  silent: 'good',
  gone: 'good',
  rubbish: 'good',
} as const;
type Kind = keyof typeof PAIRS | 'without';

const ROWS: Record<keyof typeof PAIRS, { row: string; measure: string; target: number }> = {
  shipped: {
    row: 'metrics and log of requests, as shipped',
    measure: 'requests/s over those of a service that counts and logs none',
    target: 0.95,
  },
  good: { row: 'and traces, 10 %', measure: 'the same', target: 0.9 },
  silent: {
    row: 'traces, collector that never answers',
    measure: 'requests/s over those with a good one',
    target: 0.95,
  },
  gone: { row: 'traces, collector that is not there', measure: 'the same', target: 0.95 },
  rubbish: { row: 'traces, collector that answers rubbish', measure: 'the same', target: 0.95 },
};

/**
 * What it costs to be observed: a list of 30 that was asked for before, from services that differ in that alone, in turns. The
 * rounds of one pair follow each other, and change places; both are of one age.
 */
export async function measureTelemetry(stage: Stage, quick: boolean): Promise<Figure[]> {
  const catalogue = await stage.catalogue(10_000, 200);
  const token = stage.issuer.tokenOf({ sub: 'somebody', ...SEES_ALL });
  const load = {
    connections: CONNECTIONS,
    seconds: quick ? 2 : 4,
    requests: [{ path: listPath({ limit: 30 }), token }],
  };
  const collectors = new Map<CollectorKind, Awaited<ReturnType<typeof startCollector>>>();
  for (const kind of COLLECTORS) collectors.set(kind, await startCollector(kind));
  const traced = (kind: CollectorKind) => ({
    configuration: { telemetry: { otlpEndpoint: collectors.get(kind)?.url, sampleRatio: 0.1 } },
  });
  const start = (kind: Kind): Promise<Child> => {
    if (kind === 'shipped') return startService(stage, catalogue);
    if (kind !== 'without') return startService(stage, catalogue, traced(kind));
    return startService(stage, catalogue, {
      configuration: { log: { level: 'silent' } },
      nodeArguments: ['--import', UNCOUNTED],
    });
  };
  const figures: Figure[] = [];
  for (const [own, other] of Object.entries(PAIRS) as [keyof typeof PAIRS, Kind][]) {
    const measured: { own: UnderLoad | undefined; other: UnderLoad | undefined }[] = [];
    for (let pair = 1; pair <= (quick ? 1 : PROCESSES); pair += 1) {
      const services = { [own]: await start(own), [other]: await start(other) };
      for (const service of Object.values(services)) {
        await service.get(listPath({ limit: 30 }), token);
        // A tenth of the requests takes ten times as long to become fast.
        await underLoad(service, { ...load, seconds: 2 * load.seconds });
      }
      const found = await rounds(quick ? 4 : 2, async (round) => {
        say(`${ROWS[own].row}, processes ${pair}, round ${round}`);
        const inOrder: Kind[] = (round + pair) % 2 === 0 ? [own, other] : [other, own];
        const of = new Map<Kind, UnderLoad>();
        for (const kind of inOrder) of.set(kind, await underLoad(services[kind] as Child, load));
        return { own: of.get(own), other: of.get(other) };
      });
      measured.push(...found);
      for (const service of Object.values(services)) await service.stop();
    }
    const ratio = (of: (one: UnderLoad) => number, turned = false) =>
      measured.map((round) => {
        const [one, another] = [of(round.own as UnderLoad), of(round.other as UnderLoad)];
        return turned ? another / one : one / another;
      });
    const [last] = measured.slice(-1);
    figures.push(
      figure(
        ROWS[own].row,
        ROWS[own].measure,
        ratio(({ perSecond }) => perSecond),
        atLeast(ROWS[own].target),
        `${last?.own?.perSecond.toFixed(0)} of ${last?.other?.perSecond.toFixed(0)} per second`,
      ),
      figure(
        ROWS[own].row,
        'CPU of a request of the other over that of this',
        ratio(({ cpuMs }) => cpuMs, true),
        toldOnly,
        `${last?.own?.cpuMs.toFixed(3)} ms, the other ${last?.other?.cpuMs.toFixed(3)} ms`,
      ),
    );
  }
  for (const collector of collectors.values()) collector.stop();
  return [...figures, await measureAudit(stage, quick)];
}

/** What it costs to record who published what: publications, each with its audit event, and without. */
async function measureAudit(stage: Stage, quick: boolean): Promise<Figure> {
  const catalogue = await stage.catalogue(10_000, 200);
  const token = stage.issuer.tokenOf({ sub: 'publisher', ...SUPER_ADMIN });
  const services = {
    audited: await startService(stage, catalogue),
    unaudited: await startService(stage, catalogue, { nodeArguments: ['--import', UNAUDITED] }),
  };
  const publish = (kind: keyof typeof services, round: number) =>
    publicationsPerSecond(services[kind].url, token, {
      atOnce: PUBLICATIONS_AT_ONCE,
      seconds: quick ? 2 : 4,
      series: `${kind}-${round}`,
    });
  const measured = await rounds(quick ? 6 : 10, async (round) => {
    say(`publications with audit events and without, round ${round}`);
    if (round % 2 === 0) {
      const audited = await publish('audited', round);
      return { audited, unaudited: await publish('unaudited', round) };
    }
    const unaudited = await publish('unaudited', round);
    return { audited: await publish('audited', round), unaudited };
  });
  for (const service of Object.values(services)) await service.stop();
  const [last] = measured.slice(-1);
  return figure(
    'publications, with audit events',
    'publications/s over those of a service that records none',
    measured.map(({ audited, unaudited }) => audited / unaudited),
    atLeast(0.9),
    `${last?.audited.toFixed(0)} of ${last?.unaudited.toFixed(0)} per second`,
  );
}
