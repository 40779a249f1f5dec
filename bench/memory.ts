import { setTimeout as sleep } from 'node:timers/promises';
import { SEES_ALL, teamClaims } from './data/catalogue.js';
import type { Child } from './harness/child.js';
import { atMost, type Figure, reportedOnly } from './harness/figure.js';
import type { Usage } from './harness/probe.js';
import { say } from './harness/report.js';
import { pageOf, startService, SUPER_ADMIN } from './harness/service.js';
import type { Stage } from './harness/stage.js';

const VERSIONS = 100_000;
/** More concurrency would also measure the kernel's buffers. */
const AT_ONCE = 10;
/** `limits.searchesPerCaller`. */
const SEARCHES_AT_ONCE = 2;
const SEARCHES = 300;
const NAMES = 2_000;
const MIB = 2 ** 20;
/** Pause after the server is ready. */
const AT_REST_MS = 3_000;

/**
 * Measures the service's memory after it has served 100,000 versions: all pages to three callers, searches, and
 * versions by name, repeatedly, so that all bounded caches are full.
 */
export async function measureMemory(stage: Stage, quick: boolean): Promise<Figure[]> {
  const service = await startService(stage, await stage.catalogue(VERSIONS, 200));
  const callers = [SUPER_ADMIN, SEES_ALL, { ...teamClaims(0), team: ['team-1', 'team-2', 'team-3'] }];
  const tokens = callers.map((claims) => stage.issuer.tokenOf(claims));
  await sleep(AT_REST_MS);
  const atRest = [await service.usage()];
  const used: Usage[] = [];
  for (let round = 1; round <= (quick ? 1 : 3); round += 1) {
    say(`memory, round ${round}`);
    const walks = await Promise.all(tokens.map((token) => walk(service, token)));
    const names = [...new Set(walks.flat())];
    const searches = Array.from({ length: SEARCHES }, (_, at) => `?search=${names[at * 7]?.slice(-6) ?? ''}`);
    const asked = [
      ...names.slice(0, NAMES).map((name) => `/${encodeURIComponent(name)}/versions`),
      ...names.slice(0, NAMES).map((name) => `/${encodeURIComponent(name)}/versions/latest`),
    ];
    await askAll(service, searches, tokens[1] ?? '', SEARCHES_AT_ONCE);
    await askAll(service, asked, tokens[1] ?? '', AT_ONCE);
    used.push(await service.usage());
  }
  await service.stop();
  const row = 'memory after serving 100k versions';
  const one = (
    measure: string,
    value: (usage: Usage) => number,
    judged: typeof reportedOnly,
    usages = used,
  ): Figure => {
    const all = usages.map((usage) => value(usage) / MIB);
    return { row, measure, value: Math.max(...all), ...judged, rounds: all };
  };
  return [
    one('RSS in MiB at rest, before', ({ rss }) => rss, atMost(180), atRest),
    one('RSS in MiB', ({ rss }) => rss, atMost(280)),
    one('highest RSS in MiB', ({ peak }) => peak, reportedOnly),
    one('heap in use in MiB', ({ heapUsed }) => heapUsed, reportedOnly),
    one('external in MiB, including array buffers', ({ external }) => external, reportedOnly),
  ];
}

/** Reads every page of a list in order; returns the names. */
async function walk(service: Child, token: string): Promise<string[]> {
  const names: string[] = [];
  let cursor: string | undefined = '';
  while (cursor !== undefined) {
    const page = await pageOf(service, token, { limit: 100, cursor });
    names.push(...page.servers.map(({ server }) => server.name));
    cursor = page.metadata.nextCursor;
  }
  return names;
}

async function askAll(
  service: Child,
  below: readonly string[],
  token: string,
  atOnce: number,
): Promise<void> {
  const left = [...below];
  const one = async () => {
    for (let path = left.pop(); path !== undefined; path = left.pop())
      await service.get(`/registry/main/v0.1/servers${path}`, token);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}
