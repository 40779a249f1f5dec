// Measures what one replica and two replicas serve on this machine, in alternating rounds, and how much CPU time the
// replicas, PostgreSQL and the load generator take. Needs an otherwise idle machine.
import { fork } from 'node:child_process';
import console from 'node:console';
import { readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { cpus, loadavg } from 'node:os';
import process from 'node:process';
import {
  aServer,
  BINARIES,
  inFolder,
  MANY_CHANGES,
  Postgres,
  readArguments,
  twoReplicas,
  writeConfiguration,
} from './programs.mjs';

const USAGE = `node scripts/operations/throughput.mjs [--servers 5000] [--seconds 6] [--rounds 5] [--binaries ${BINARIES}]`;
const CONNECTIONS = 16;
const PAGE = 30;
const REGISTRY = '/registry/main/v0.1/servers';
const PUBLICATIONS = '/v1/entries';
/** USER_HZ, which is 100 on every Linux architecture of Node.js. */
const TICK_MS = 10;

if (process.send) process.once('message', (work) => void generate(work).then((sent) => process.send(sent)));
else await measureAll();

/** Sends these requests in turn, on a fixed number of connections; resolves with the number of responses. */
async function generate({ ports, paths, seconds }) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS / ports.length });
  const end = Date.now() + seconds * 1_000;
  let [turn, failed] = [0, 0];
  const send = (port, path, number) =>
    new Promise((done, fail) => {
      const publishes = path === PUBLICATIONS;
      const options = publishes ? { method: 'POST', headers: { 'content-type': 'application/json' } } : {};
      http
        .request({ host: '127.0.0.1', port, path, agent, ...options }, (answer) => {
          if (answer.statusCode !== (publishes ? 201 : 200)) failed += 1;
          answer.resume().on('end', done);
        })
        .on('error', fail)
        .end(publishes ? publicationOf(`io.acme/p-${process.pid}-${number}`) : undefined);
    });
  const connections = Array.from({ length: CONNECTIONS }, async (_, connection) => {
    while (Date.now() < end) {
      const number = turn++;
      await send(ports[connection % ports.length], paths[number % paths.length], number);
    }
  });
  await Promise.all(connections);
  agent.destroy();
  return { sent: turn, failed };
}

async function measureAll() {
  const { values } = readArguments(USAGE, {
    options: {
      servers: { type: 'string', default: '5000' },
      seconds: { type: 'string', default: '6' },
      rounds: { type: 'string', default: '5' },
      binaries: { type: 'string', default: BINARIES },
    },
  });
  const [servers, seconds, rounds] = [values.servers, values.seconds, values.rounds].map(Number);
  await inFolder(async (folder, atEnd) => {
    const postgres = await Postgres.start(values.binaries, folder, ['max_connections=200']);
    atEnd(() => postgres.stop());
    const database = { host: '127.0.0.1', port: postgres.port, user: 'registry', database: 'postgres' };
    const names = Array.from({ length: servers }, (_, index) => `io.acme/s${String(index).padStart(6, '0')}`);
    const config = await writeConfiguration(folder, database, names, MANY_CHANGES);
    const replicas = await twoReplicas(config, atEnd);
    const firstReads = await cursorsOf(replicas[0].port);
    const kinds = {
      'list, cached': [`${REGISTRY}?limit=${PAGE}`],
      'list, first read': firstReads.map((cursor) => `${REGISTRY}?limit=${PAGE}&cursor=${cursor}`),
      'latest version by name': names.map(
        (name) => `${REGISTRY}/${encodeURIComponent(name)}/versions/latest`,
      ),
      publication: [PUBLICATIONS],
    };
    const measured = [];
    let published = 0;
    for (let round = 0; round <= rounds; round += 1)
      for (const [kind, paths] of Object.entries(kinds))
        for (const used of [replicas.slice(0, 1), replicas]) {
          // Invalidates the replicas' caches.
          await publish(replicas[0].port, `io.acme/z-${published++}`);
          const result = await measure(used, postgres, { paths, seconds });
          // The first round warms up.
          if (round > 0) measured.push({ kind, replicas: used.length, ...result });
        }
    for (const kind of Object.keys(kinds)) print(kind, measured);
    console.log(`${cpus().length} CPUs, load average ${loadavg()[0].toFixed(1)}`);
    process.exitCode = measured.some(({ failed }) => failed > 0) ? 1 : 0;
  });
}

/** A cursor after every server, so that each leads to another page. */
async function cursorsOf(port) {
  const cursors = [];
  for (let cursor = ''; cursor !== undefined;) {
    const query = cursor && `&cursor=${cursor}`;
    const answer = await globalThis.fetch(`http://127.0.0.1:${port}${REGISTRY}?limit=1${query}`);
    cursor = (await answer.json()).metadata.nextCursor ?? undefined;
    if (cursor !== undefined) cursors.push(encodeURIComponent(cursor));
  }
  return cursors;
}

function publicationOf(name) {
  return JSON.stringify({ server: aServer(name) });
}

async function publish(port, name) {
  const answer = await globalThis.fetch(`http://127.0.0.1:${port}${PUBLICATIONS}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: publicationOf(name),
  });
  if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
}

async function measure(replicas, postgres, work) {
  const generator = fork(import.meta.filename);
  const cpuMs = () => ({
    server: replicas.reduce((sum, { child }) => sum + cpuOf(child.pid), 0),
    postgres:
      cpuOf(postgres.child.pid) + childrenOf(postgres.child.pid).reduce((sum, pid) => sum + cpuOf(pid), 0),
  });
  const before = cpuMs();
  const sent = new Promise((done) => generator.once('message', done));
  generator.send({ ...work, ports: replicas.map(({ port }) => port) });
  const result = await sent;
  const after = cpuMs();
  const generated = cpuOf(generator.pid);
  const ended = new Promise((done) => generator.once('exit', done));
  generator.disconnect();
  await ended;
  const spent = {
    server: after.server - before.server,
    postgres: after.postgres - before.postgres,
    generated,
  };
  return { perSecond: result.sent / work.seconds, sent: result.sent, failed: result.failed, spent };
}

function print(kind, measured) {
  const of = (replicas) => measured.filter((one) => one.kind === kind && one.replicas === replicas);
  for (const replicas of [1, 2]) {
    const list = of(replicas);
    const spent = (what) => median(list.map((one) => one.spent[what] / one.sent)).toFixed(2);
    const share = median(
      list.map(({ spent: all }) => all.generated / (all.server + all.postgres + all.generated)),
    );
    console.log(
      `${kind}, ${replicas} replica(s): ${median(list.map(({ perSecond }) => perSecond)).toFixed(0)} per second; ms of CPU: server ${spent('server')}, PostgreSQL ${spent('postgres')}, load generator ${spent('generated')} (${(share * 100).toFixed(0)} %)`,
    );
  }
  const ratios = of(2).map(({ perSecond }, round) => perSecond / of(1)[round].perSecond);
  console.log(
    `${kind}, two replicas against one: ${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
  );
}

function median(numbers) {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)];
}

/** User and system time of a process and of its children that have ended, in milliseconds; 0 once it has ended itself. */
function cpuOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) * TICK_MS;
  } catch {
    return 0;
  }
}

function childrenOf(parent) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] === `${parent}`;
      } catch {
        return false;
      }
    });
}
