import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { loadConfig } from '#service/config/load-config.js';
import { type RunningService, startService } from '#service/app/start-service.js';
import { createLogger } from '#service/telemetry/logger.js';
import { nameOf, serverDocument } from './data/documents.js';
import { atLeast, atMost, type Figure, figure } from './harness/figure.js';
import { publicationsPerSecond } from './harness/publications.js';
import { say } from './harness/report.js';
import { median, rounds } from './harness/rounds.js';
import type { Stage } from './harness/stage.js';

const HUNDRED = 100;
/** Published and removed before measuring, to warm up the service. */
const WARM_UP = 500;
const VERSION = { version: '0', commit: '', build_date: '', node_version: '', platform: process.platform };

interface Published {
  readonly name: string;
  readonly version: string;
}

/**
 * Measures whether publishing slows down as a managed source fills, and as one name gains versions. Requests are
 * sequential, over HTTP, and PostgreSQL writes to disk. Compares the last hundred with the first, both relative
 * to a twin service that stays small.
 */
export async function measurePublishing({ folder }: Stage, quick: boolean): Promise<Figure[]> {
  const grows = await serve(folder, 'grows');
  const twin = await serve(folder, 'twin');
  const agent = new Agent({ keepAlive: true });
  const publish = async (to: RunningService, { name, version }: Published, number: number) => {
    // Each name belongs to one team; names rotate.
    const claims = { org: 'acme', team: `team-${name.length % 10}` };
    const body = { server: serverDocument(name, version, number, 1), claims };
    const began = performance.now();
    const status = await send(agent, to, 'POST', '/v1/entries', body);
    if (status !== 201) throw new Error(`${name} was answered with ${status}`);
    return performance.now() - began;
  };
  const unpublish = (from: RunningService, { name, version }: Published) =>
    send(agent, from, 'DELETE', `/v1/entries/server/${encodeURIComponent(name)}/versions/${version}`);
  const publishInTwin = async (number: number) => {
    const one = { name: 'com.example.tools/one', version: '1.0.0' };
    const time = await publish(twin, one, number);
    await unpublish(twin, one);
    return time;
  };
  const warm = Array.from({ length: WARM_UP }, (_, at) => ({ name: 'com.example/s', version: `1.0.${at}` }));
  for (const [number, one] of warm.entries()) {
    await publish(grows, one, number);
    await publishInTwin(number);
  }
  for (const one of warm) await unpublish(grows, one);

  const measure = async (
    what: string,
    count: number,
    nth: (number: number) => Published,
  ): Promise<Figure> => {
    const times: number[] = [];
    const twins: number[] = [];
    for (let number = 0; number < count; number += 1) {
      times.push(await publish(grows, nth(number), number));
      if (number < HUNDRED || number >= count - HUNDRED) twins.push(await publishInTwin(number));
      if (times.length % 1_000 === 0) say(`publishing, ${times.length} ${what}`);
    }
    const first = { own: median(times.slice(0, HUNDRED)), twin: median(twins.slice(0, HUNDRED)) };
    const last = { own: median(times.slice(-HUNDRED)), twin: median(twins.slice(-HUNDRED)) };
    const value = last.own / last.twin / (first.own / first.twin);
    return {
      row: `publishing ${count} ${what}`,
      measure: 'last hundred / first hundred, each relative to a small twin',
      value,
      ...atMost(1.5),
      rounds: [value],
      note: `first ${first.own.toFixed(2)} ms, last ${last.own.toFixed(2)} ms; twin ${first.twin.toFixed(2)}, ${last.twin.toFixed(2)}`,
    };
  };
  const figures = [
    await measure('entries', quick ? 2_000 : 10_000, (number) => ({
      name: nameOf(number, 1),
      version: '1.0.0',
    })),
    await measure('versions of one name', quick ? 1_000 : 3_000, (number) => ({
      name: 'com.example.tools/nightly',
      version: `1.0.${number}`,
    })),
    ...(await measureSpeed(grows, quick, (number) =>
      publish(grows, { name: `com.example.speed/s${number}`, version: '1.0.0' }, number),
    )),
  ];
  agent.destroy();
  await grows.stop();
  await twin.stop();
  return figures;
}

const TARGET_MS = 15;
const AT_ONCE = 16;
const TARGET_PER_SECOND = 100;

/** Measures publications of new names, one after another and 16 at a time. */
async function measureSpeed(
  service: RunningService,
  quick: boolean,
  publish: (number: number) => Promise<number>,
): Promise<Figure[]> {
  const url = `http://127.0.0.1:${service.publicPort}`;
  let published = 0;
  const measured = await rounds(quick ? 3 : 7, async (round) => {
    say(`publishing, round ${round}`);
    const times: number[] = [];
    for (let nth = 0; nth < 2 * HUNDRED; nth += 1) times.push(await publish((published += 1)));
    const load = { atOnce: AT_ONCE, seconds: quick ? 2 : 4, series: `round${round}` };
    return { alone: median(times), atOnce: await publicationsPerSecond(url, '-', load) };
  });
  return [
    figure(
      'publishing new names, 1 connection',
      'median ms',
      measured.map(({ alone }) => alone),
      atMost(TARGET_MS),
    ),
    figure(
      `publishing new names, ${AT_ONCE} connections`,
      'publications/s',
      measured.map(({ atOnce }) => atOnce),
      atLeast(TARGET_PER_SECOND),
    ),
  ];
}

/** A service with the embedded PostgreSQL, as in a trial installation. */
async function serve(folder: string, data: string): Promise<RunningService> {
  const configuration = join(folder, `${data}.yaml`);
  const sources = [{ name: 'tools', managed: {} }];
  const registries = [{ name: 'main', sources: ['tools'] }];
  const limits = { changesPerMinute: 1_000_000, versionsPerEntry: 3_000 };
  await writeFile(
    configuration,
    JSON.stringify({ auth: { mode: 'anonymous' }, sources, registries, limits }),
  );
  const addresses = { address: '127.0.0.1:0', internalAddress: '127.0.0.1:0' };
  const { config } = loadConfig(configuration, { REGISTRY_DATA_DIR: join(folder, data) }, addresses);
  return startService(config, VERSION, createLogger('error'));
}

function send(
  agent: Agent,
  to: RunningService,
  method: string,
  path: string,
  body?: object,
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const options = { host: '127.0.0.1', port: to.publicPort, method, path, headers, agent };
    const outgoing = request(options, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode));
    });
    outgoing.once('error', reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
