/* global fetch, AbortSignal */
// Runs two replicas against a Patroni cluster behind HAProxy, as in docs/scaling.md: three nodes of etcd, Patroni and
// PostgreSQL with a synchronous standby. Then makes the leader fail under a load of reads and publications. No
// acknowledged publication may be lost. `kill` ends every process of the leader's node, `hang` stops only its Patroni,
// `switchover` is planned. Uses Debian's patroni, etcd-server, haproxy and PostgreSQL.
import { spawn } from 'node:child_process';
import console from 'node:console';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { countsOf, Load } from './load.mjs';
import {
  BINARIES,
  freePort,
  giveToPostgres,
  inFolder,
  MANY_CHANGES,
  readArguments,
  twoReplicas,
  ROOT,
  runAsPostgres,
  startAsPostgres,
  until,
  writeConfiguration,
} from './programs.mjs';

const USAGE = `node scripts/operations/patroni.mjs kill|hang|switchover [--rate 30] [--ttl 30] [--binaries ${BINARIES}]`;
const { values, positionals } = readArguments(USAGE, {
  allowPositionals: true,
  options: {
    rate: { type: 'string', default: '30' },
    ttl: { type: 'string', default: '30' },
    binaries: { type: 'string', default: BINARIES },
  },
});
const FAULTS = {
  kill: (leader) => leader.kill(),
  hang: (leader) => process.kill(leader.patroni.pid, 'SIGSTOP'),
  switchover: (leader) =>
    runAsPostgres('patronictl', '-c', leader.file, 'switchover', '--master', leader.name, '--force'),
};
const fail = FAULTS[positionals[0]];
if (!fail) {
  console.error(`Usage: ${USAGE}`);
  process.exit(2);
}

/** What one machine runs: an etcd member, Patroni, and the PostgreSQL server that Patroni starts. */
class Node {
  static async at(folder, number) {
    const node = new Node();
    node.name = `node${number}`;
    node.directory = join(folder, node.name);
    node.file = join(node.directory, 'patroni.json');
    for (const port of ['client', 'peer', 'rest', 'postgres']) node[port] = await freePort();
    await mkdir(node.directory, { mode: 0o700 });
    return node;
  }

  async start(nodes) {
    await writeFile(this.file, JSON.stringify(this.settings(nodes)));
    await giveToPostgres(this.directory);
    this.startPrograms(nodes);
  }

  startPrograms(nodes) {
    const flags = Object.entries({
      name: this.name,
      'data-dir': join(this.directory, 'etcd'),
      'listen-client-urls': `http://127.0.0.1:${this.client}`,
      'advertise-client-urls': `http://127.0.0.1:${this.client}`,
      'listen-peer-urls': `http://127.0.0.1:${this.peer}`,
      'initial-advertise-peer-urls': `http://127.0.0.1:${this.peer}`,
      'initial-cluster': nodes.map(({ name, peer }) => `${name}=http://127.0.0.1:${peer}`).join(),
    });
    this.etcd = startAsPostgres('etcd', ...flags.map(([name, value]) => `--${name}=${value}`));
    this.patroni = startAsPostgres('patroni', this.file);
  }

  settings(nodes) {
    const ttl = Number(values.ttl);
    const addresses = (port) => ({ listen: `127.0.0.1:${port}`, connect_address: `127.0.0.1:${port}` });
    return {
      scope: 'registry',
      name: this.name,
      log: { dir: this.directory },
      restapi: addresses(this.rest),
      etcd3: { hosts: nodes.map(({ client }) => `127.0.0.1:${client}`) },
      bootstrap: {
        dcs: {
          // Patroni requires loop_wait + 2 * retry_timeout <= ttl.
          ...{ ttl, loop_wait: Math.floor(ttl / 3), retry_timeout: Math.floor(ttl / 3) },
          synchronous_mode: true,
          postgresql: { use_pg_rewind: true, parameters: { unix_socket_directories: '' } },
        },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C' }],
      },
      postgresql: {
        ...addresses(this.postgres),
        data_dir: join(this.directory, 'data'),
        bin_dir: values.binaries,
        pgpass: join(this.directory, 'pgpass'),
        pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
        authentication: { superuser: { username: 'registry' }, replication: { username: 'replicator' } },
      },
    };
  }

  /** Asks Patroni's REST API whether the node has a role: `primary`, `replica` or `synchronous`. */
  async is(role) {
    const url = `http://127.0.0.1:${this.rest}/${role}`;
    return (await fetch(url, { signal: AbortSignal.timeout(1_000) })).ok;
  }

  /** Kills all its processes simultaneously, like a machine failure. */
  kill() {
    const postmaster = Number(
      readFileSync(join(this.directory, 'data/postmaster.pid'), 'utf8').split('\n')[0],
    );
    const backends = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8')
      .trim()
      .split(' ');
    for (const one of [this.patroni.pid, postmaster, ...backends.map(Number), this.etcd.pid])
      process.kill(one, 'SIGKILL');
  }

  async stop() {
    for (const child of [this.patroni, this.etcd]) {
      if (!child || child.exitCode !== null || child.signalCode !== null) continue;
      const ended = new Promise((done) => child.once('exit', done));
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      await ended;
    }
  }
}

/** Starts HAProxy with the configuration from deploy/proxies, except for addresses. */
async function haproxy(nodes, folder) {
  const shipped = await readFile(join(ROOT, 'deploy/proxies/haproxy-patroni.cfg'), 'utf8');
  const port = await freePort();
  let place = 0;
  const text = shipped.replace(':5000', `:${port}`).replace(/server \S+ \S+ check port 8008/g, () => {
    const { name, postgres, rest } = nodes[place++];
    return `server ${name} 127.0.0.1:${postgres} check port ${rest}`;
  });
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, text);
  const child = spawn('haproxy', ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  const close = async () => {
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGTERM');
    await ended;
  };
  return { port, close };
}

async function the(role, nodes) {
  const are = await Promise.all(nodes.map((node) => node.is(role).catch(() => false)));
  return nodes[are.indexOf(true)];
}

await inFolder(async (folder, atEnd) => {
  const nodes = [await Node.at(folder, 1), await Node.at(folder, 2), await Node.at(folder, 3)];
  for (const node of nodes) {
    await node.start(nodes);
    atEnd(() => node.stop());
  }
  await until(
    'there are a leader and a synchronous standby',
    async () => (await the('primary', nodes)) && (await the('synchronous', nodes)),
  );
  await until('each node has a role', async () => {
    const roles = nodes.map(async (node) => (await node.is('replica')) || (await node.is('primary')));
    return (await Promise.all(roles)).every(Boolean);
  });
  const proxy = await haproxy(nodes, folder);
  atEnd(proxy.close);

  const database = { host: '127.0.0.1', port: proxy.port, user: 'registry', database: 'postgres' };
  const config = await writeConfiguration(folder, database, [], MANY_CHANGES);
  const replicas = await twoReplicas(config, atEnd);
  const portOf = (number) => replicas[(number >> 1) % 2].port;
  const load = new Load({ portOf, rate: Number(values.rate), publicationEvery: 2, names: [] });
  await pause(8_000);

  const leader = await the('primary', nodes);
  const failedAt = Date.now();
  await fail(leader);
  const others = nodes.filter((node) => node !== leader);
  await until('another node leads', () => the('primary', others), 120_000);
  const promotedAt = Date.now();
  await pause(10_000);
  await load.stop();

  const ends = (answers) => answers.map(({ at, tookMs }) => at + tookMs).sort((one, other) => one - other);
  const seconds = (time) => ((time - failedAt) / 1_000).toFixed(1);
  const writes = ends(load.answers.filter(({ published, status }) => published && status === 201));
  const firstLate = writes.reduce(
    (late, end, place) => {
      const gap = end - (writes[place - 1] ?? end);
      return gap > late.gap ? { gap, end } : late;
    },
    { gap: 0, end: failedAt },
  );
  console.log(
    `promoted after ${seconds(promotedAt)} s, next acknowledged write after ${seconds(firstLate.end)} s`,
  );
  const failures = ends(load.failed);
  if (failures.length > 0)
    console.log(
      `failed requests from ${seconds(failures[0])} to ${seconds(failures.at(-1))} s after the fault`,
    );
  for (const method of ['GET', 'POST']) {
    const answers = load.answers.filter((answer) => answer.method === method);
    const slowest = Math.max(...answers.map(({ tookMs }) => tookMs));
    console.log(`${method}: ${countsOf(answers)}, slowest response ${slowest} ms`);
  }
  const missing = await load.missing(replicas[0].port);
  console.log(
    `${missing.length} of ${load.acknowledged.length} acknowledged publications are missing; machine load ${load.machineLoad}`,
  );

  const repaired = Date.now();
  if (positionals[0] === 'kill') leader.startPrograms(nodes);
  if (positionals[0] === 'hang') process.kill(leader.patroni.pid, 'SIGCONT');
  await until('the old leader follows', () => leader.is('replica'), 120_000);
  console.log(
    `the old leader follows ${((Date.now() - repaired) / 1_000).toFixed(1)} s after it was started again`,
  );
  process.exitCode = missing.length > 0 ? 1 : 0;
});
