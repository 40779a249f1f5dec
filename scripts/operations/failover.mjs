// Kills the primary of a PostgreSQL cluster that has a synchronous standby, promotes the standby, and repoints the
// address that two replicas use, all under a load of reads and publications. No acknowledged publication may be lost.
// Uses Debian's PostgreSQL unless `--binaries` specifies another installation.
import console from 'node:console';
import net from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { countsOf, Load } from './load.mjs';
import {
  BINARIES,
  inFolder,
  MANY_CHANGES,
  Postgres,
  readArguments,
  twoReplicas,
  runAsPostgres,
  until,
  writeConfiguration,
} from './programs.mjs';

const USAGE = `node scripts/operations/failover.mjs [--rate 50] [--binaries ${BINARIES}]`;
const { values } = readArguments(USAGE, {
  options: { rate: { type: 'string', default: '50' }, binaries: { type: 'string', default: BINARIES } },
});

await inFolder(async (folder, atEnd) => {
  const settings = ['max_connections=100', 'wal_receiver_status_interval=1s'];
  const primary = await Postgres.start(values.binaries, folder, settings);
  atEnd(() => primary.stop());
  const standby = await primary.standby(folder, settings);
  atEnd(() => standby.stop());
  await primary.query(`alter system set synchronous_standby_names = '*'`);
  await primary.query('select pg_reload_conf()');
  await until('the standby is synchronous', async () => {
    const [row] = await primary.query('select sync_state from pg_stat_replication');
    return row?.sync_state === 'sync';
  });
  const address = await movingAddress(primary.port);
  atEnd(address.close);
  const database = { host: '127.0.0.1', port: address.port, user: 'registry', database: 'postgres' };
  const config = await writeConfiguration(folder, database, [], MANY_CHANGES);
  const replicas = await twoReplicas(config, atEnd);
  const portOf = (number) => replicas[(number >> 1) % 2].port;
  const load = new Load({ portOf, rate: Number(values.rate), publicationEvery: 2, names: [] });
  await pause(8_000);

  const killed = Date.now();
  primary.kill();
  await pause(1_000);
  await runAsPostgres(join(values.binaries, 'pg_ctl'), 'promote', '-D', standby.directory, '-w');
  address.moveTo(standby.port);
  const moved = Date.now();
  const readyAgain = replicas.map((replica) => until('ready again', () => replica.isReady()));
  console.log(`ready ${(await Promise.all(readyAgain)).join(' and ')} ms after the address moved`);
  await pause(10_000);
  await load.stop();

  for (const method of ['GET', 'POST']) {
    const answers = load.answers.filter((answer) => answer.method === method);
    const during = (from, to) => countsOf(answers.filter(({ at }) => at >= from && at < to));
    const lastRefused = Math.max(
      ...load.failed.filter((answer) => answer.method === method).map(({ at, tookMs }) => at + tookMs),
    );
    console.log(
      `${method}: before ${during(0, killed)}, until it moved (${moved - killed} ms) ${during(killed, moved)}, after ${during(moved, Infinity)};`,
    );
    console.log(
      `last refusal ${lastRefused - moved} ms after it moved, slowest response ${Math.max(...answers.map(({ tookMs }) => tookMs))} ms`,
    );
  }
  const missing = await load.missing(replicas[0].port);
  console.log(
    `${missing.length} of ${load.acknowledged.length} acknowledged publications are missing; machine load ${load.machineLoad}`,
  );
  process.exitCode = missing.length > 0 ? 1 : 0;
});

/** A port whose target can be changed; changing it breaks existing connections. */
async function movingAddress(to) {
  let target = to;
  const sockets = new Set();
  const server = net.createServer((client) => {
    const behind = net.connect(target, '127.0.0.1');
    for (const [one, other] of [
      [client, behind],
      [behind, client],
    ]) {
      sockets.add(one);
      one.pipe(other);
      one.on('error', () => undefined).on('close', () => other.destroy() && sockets.delete(one));
    }
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const breakAll = () => sockets.forEach((socket) => socket.destroy());
  const moveTo = (port) => {
    target = port;
    breakAll();
  };
  const close = () => {
    server.close();
    breakAll();
  };
  return { port: server.address().port, moveTo, close };
}
