// Publishes at a steady rate for an hour while one webhook receiver hangs, one returns 500 and one is unreachable.
// Prints how this affects requests and a healthy receiver, and how the three catch up afterwards. Every event must
// arrive, in order for each entry.
/* global fetch, setInterval, clearInterval */
import console from 'node:console';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import {
  aServer,
  BINARIES,
  freePort,
  inFolder,
  Postgres,
  readArguments,
  twoReplicas,
  until,
} from './programs.mjs';

const USAGE = `node scripts/operations/webhook-outage.mjs [--binaries ${BINARIES}] [--minutes 60] [--before 5] [--rate 2]`;
const { values } = readArguments(USAGE, {
  options: {
    binaries: { type: 'string', default: BINARIES },
    minutes: { type: 'string', default: '60' },
    before: { type: 'string', default: '5' },
    rate: { type: 'string', default: '2' },
  },
});
const [minutes, before, rate] = [Number(values.minutes), Number(values.before), Number(values.rate)];
const JSON_BODY = { 'content-type': 'application/json' };
const NAMES = Array.from({ length: 50 }, (_, at) => `io.acme/s${at}`);
/** The behavior of each receiver during the outage. */
const OUTAGES = { healthy: 'answers', hanging: 'hangs', failing: 'answers 500', gone: 'is gone' };

class Receiver {
  deliveries = [];
  attempts = 0;
  isOut = false;

  constructor(name, port) {
    Object.assign(this, { name, port });
  }

  async listen() {
    this.server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        this.attempts += 1;
        if (this.isOut && this.name === 'hanging') return;
        if (this.isOut && this.name === 'failing') return void response.writeHead(500).end();
        const { id, time, data } = JSON.parse(body);
        this.deliveries.push({ id, target: data.target, lateMs: Date.now() - Date.parse(time) });
        response.writeHead(204).end();
      });
    });
    await new Promise((done) => this.server.listen(this.port, '127.0.0.1', done));
  }

  async close() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  async setOut(isOut) {
    this.isOut = isOut;
    if (this.name === 'gone') await (isOut ? this.close() : this.listen());
    // Requests that hang end by themselves only after 10 s.
    else if (!isOut) this.server.closeAllConnections();
  }

  get ids() {
    return new Set(this.deliveries.map(({ id }) => id));
  }

  /** Versions that arrived before an earlier version of the entry. */
  outOfOrder() {
    const last = new Map();
    return this.deliveries.filter(({ target: { name, version } }) => {
      const [number, reached] = [Number.parseInt(version, 10), last.get(name) ?? 0];
      last.set(name, Math.max(number, reached));
      // A repeated event is followed by the events after it.
      return number > reached + 1;
    });
  }
}

function figures(times) {
  const sorted = times.toSorted((a, b) => a - b);
  const part = (share) => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1);
  return `median ${part(0.5)} ms, p99 ${part(0.99)} ms, longest ${part(1)} ms of ${sorted.length}`;
}

const residentMib = ({ child: { pid } }) =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024);

await inFolder(async (folder, atEnd) => {
  const postgres = await Postgres.start(values.binaries, folder);
  atEnd(() => postgres.stop());
  const receivers = [];
  for (const name of Object.keys(OUTAGES)) {
    const receiver = new Receiver(name, await freePort());
    await receiver.listen();
    atEnd(() => receiver.close());
    receivers.push(receiver);
  }
  const secretFile = join(folder, 'secret');
  await writeFile(secretFile, `whsec_${randomBytes(32).toString('base64')}`);
  const config = join(folder, 'registry.yaml');
  const configuration = {
    auth: { mode: 'anonymous' },
    database: { host: '127.0.0.1', port: postgres.port, user: 'registry', database: 'postgres' },
    sources: [{ name: 'published', managed: {} }],
    registries: [{ name: 'main', sources: ['published'] }],
    webhooks: receivers.map(({ name, port }) => ({
      ...{ name, url: `http://127.0.0.1:${port}/in`, secretFile, actions: ['entry.publish'] },
    })),
  };
  await writeFile(config, JSON.stringify(configuration));
  const replicas = await twoReplicas(config, atEnd);
  const at = ({ port }, path) => `http://127.0.0.1:${port}${path}`;

  const failures = [];
  let [published, times] = [0, { publications: [], reads: [] }];
  const ask = async (what, url, options, status) => {
    const began = performance.now();
    const reply = await fetch(url, options);
    const text = await reply.text();
    times[what].push(performance.now() - began);
    if (reply.status !== status) failures.push(`${what}: ${reply.status} ${text}`);
  };
  const turn = async () => {
    const number = published;
    published += 1;
    const name = NAMES[number % NAMES.length];
    const version = `${Math.floor(number / NAMES.length) + 1}.0.0`;
    const replica = replicas[number % 2];
    const body = JSON.stringify({ server: { ...aServer(name), version } });
    await ask('publications', at(replica, '/v1/entries'), { method: 'POST', headers: JSON_BODY, body }, 201);
    const path = `/registry/main/v0.1/servers/${encodeURIComponent(name)}/versions/latest`;
    await ask('reads', at(replica, path), {}, 200);
  };
  const publishFor = async (forMinutes) => {
    const end = performance.now() + forMinutes * 60_000;
    for (let next = performance.now(); performance.now() < end; next += 1_000 / rate) {
      await turn();
      await pause(Math.max(next + 1_000 / rate - performance.now(), 0));
    }
  };
  const [healthy] = receivers;
  let reported = 0;
  const report = (when) => {
    const late = healthy.deliveries.slice(reported).map(({ lateMs }) => lateMs);
    reported = healthy.deliveries.length;
    console.log(`${when}:`);
    for (const [what, took] of Object.entries(times)) console.log(`  ${what}: ${figures(took)}`);
    console.log(`  the healthy receiver gets an event after: ${figures(late)}`);
    console.log(`  resident memory of the replicas: ${replicas.map(residentMib).join(' and ')} MiB`);
    times = { publications: [], reads: [] };
  };

  await turn();
  await until('each receiver gets an event', async () => receivers.every(({ ids }) => ids.size > 0));
  times = { publications: [], reads: [] };
  await publishFor(before);
  report(`${before} min with all receivers`);
  for (const receiver of receivers) {
    receiver.attempts = 0;
    if (receiver !== healthy) await receiver.setOut(true);
  }
  // Shows progress, because the test takes an hour.
  const progress = setInterval(() => console.log(`  … ${published} published`), 10 * 60_000);
  await publishFor(minutes);
  clearInterval(progress);
  report(`${minutes} min with one that hangs, one that answers 500 and one that is gone`);
  const { webhooks } = await (await fetch(at(replicas[0], '/v1/webhooks'))).json();
  for (const { name, status, lag, lastError } of webhooks)
    console.log(`  ${name}: ${status}, lag ${Math.round(lag)} s${lastError ? `, ${lastError}` : ''}`);
  for (const { name, attempts } of receivers) console.log(`  ${name}: ${attempts} requests`);

  const missing = new Map(receivers.map((one) => [one.name, published - one.ids.size]));
  const back = performance.now();
  const caughtUp = receivers.slice(1).map(async (receiver) => {
    await receiver.setOut(false);
    const first = receiver.ids.size;
    await until('it is tried again', async () => receiver.ids.size > first, 400_000);
    const began = performance.now();
    await until('it has caught up', async () => receiver.ids.size === published, 600_000);
    const [waited, took] = [began - back, performance.now() - began].map((ms) => (ms / 1_000).toFixed(1));
    console.log(
      `  ${receiver.name}: ${missing.get(receiver.name)} events, tried again after ${waited} s, then ${took} s`,
    );
  });
  console.log('receivers are back:');
  await Promise.all(caughtUp);
  report('meanwhile');
  for (const receiver of receivers) {
    const { deliveries, ids, name } = receiver;
    const wrong = receiver.outOfOrder().length;
    console.log(
      `${name}: ${ids.size} of ${published} events, ${deliveries.length - ids.size} twice, ${wrong} out of order`,
    );
    if (ids.size !== published || wrong > 0) process.exitCode = 1;
  }
  for (const failure of failures.slice(0, 10)) console.log(`FAILED  ${failure}`);
  if (failures.length > 0) process.exitCode = 1;
});
