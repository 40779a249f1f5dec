import { SEES_ALL } from './data/catalogue.js';
import type { Child } from './harness/child.js';
import { type CollectorKind, COLLECTORS, startCollector } from './harness/collector.js';
import { atLeast, type Figure, figure, reportedOnly } from './harness/figure.js';
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
/**
 * How many processes of each service are measured: V8's optimizations make a process up to 10 % faster or slower
 * for its lifetime.
 */
const PROCESSES = 3;

/** The baseline of each service. */
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
    measure: 'requests/s / service without metrics and request log',
    target: 0.95,
  },
  good: { row: 'and traces, 10 %', measure: 'the same', target: 0.9 },
  silent: {
    row: 'traces, collector that never answers',
    measure: 'requests/s / service with a good collector',
    target: 0.95,
  },
  gone: { row: 'traces, unreachable collector', measure: 'the same', target: 0.95 },
  rubbish: { row: 'traces, collector that answers garbage', measure: 'the same', target: 0.95 },
};

/**
 * Measures the cost of observability: compares a cached list of 30 from services that differ only in their
 * telemetry. The two services of a pair are started together, and which one is measured first alternates.
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
        // One in ten requests takes ten times as long to warm up.
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
        'CPU per request of the baseline / CPU per request',
        ratio(({ cpuMs }) => cpuMs, true),
        reportedOnly,
        `${last?.own?.cpuMs.toFixed(3)} ms, baseline ${last?.other?.cpuMs.toFixed(3)} ms`,
      ),
    );
  }
  for (const collector of collectors.values()) collector.stop();
  return [...figures, await measureAudit(stage, quick)];
}

/** Measures the cost of auditing: publications with and without audit events. */
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
    'publications/s / service without audit events',
    measured.map(({ audited, unaudited }) => audited / unaudited),
    atLeast(0.9),
    `${last?.audited.toFixed(0)} of ${last?.unaudited.toFixed(0)} per second`,
  );
}
