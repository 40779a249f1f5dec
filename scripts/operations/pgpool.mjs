// Puts pgpool-II, which balances reads, before a primary and a standby that lags forever, then compares the responses
// of a replica with the last changes of another. No response may be stale.
import console from 'node:console';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import pg from 'pg';
import {
  aServer,
  BINARIES,
  freePort,
  giveToPostgres,
  inFolder,
  MANY_CHANGES,
  Postgres,
  readArguments,
  Replica,
  startAsPostgres,
  until,
  writeConfiguration,
} from './programs.mjs';

const USAGE = `node scripts/operations/pgpool.mjs [--reads 10000] [--binaries ${BINARIES}]`;
const { values } = readArguments(USAGE, {
  options: { reads: { type: 'string', default: '10000' }, binaries: { type: 'string', default: BINARIES } },
});
const REGISTRY = '/registry/main';
const STANDING = Array.from({ length: 50 }, (_, index) => `io.acme/standing-${index}`);

/** Reads that contain the name of a visible server, and only of a visible one. */
const READS = [
  (name) => `${REGISTRY}/v0.1/servers/${encodeURIComponent(name)}/versions`,
  (name) => `${REGISTRY}/v0.1/servers?search=${encodeURIComponent(name)}`,
  (name) => `${REGISTRY}/v0.1/servers?updated_since=2020-01-01T00:00:00Z&search=${encodeURIComponent(name)}`,
  (name) => `${REGISTRY}/x/search?q=${encodeURIComponent(name)}`,
  () => `${REGISTRY}/x/feed.atom`,
];

await inFolder(async (folder, atEnd) => {
  const primary = await Postgres.start(values.binaries, folder, ['max_connections=200']);
  atEnd(() => primary.stop());
  const standby = await primary.standby(folder, ['max_connections=200']);
  atEnd(() => standby.stop());
  const port = await pgpool(folder, [primary, standby], atEnd);
  // Writes use the primary only: behind such a proxy, the admin API may read stale data.
  const started = async (to) => {
    const database = { host: '127.0.0.1', port: to, user: 'registry', database: 'postgres' };
    const replica = await Replica.at(await writeConfiguration(folder, database, [], MANY_CHANGES));
    await replica.start();
    atEnd(() => replica.stop());
    return replica;
  };
  const received = async () => {
    const [{ lsn }] = await primary.query('select pg_current_wal_lsn()::text as lsn');
    await until('the standby has every change', async () => {
      const [{ done }] = await standby.query(`select pg_last_wal_replay_lsn() >= '${lsn}' as done`);
      return done;
    });
  };
  const writer = await started(primary.port);
  await received();
  const reader = await started(port);

  const send = async (replica, method, path, body) => {
    const headers = body ? { 'content-type': 'application/json' } : {};
    const url = `http://127.0.0.1:${replica.port}${path}`;
    const answer = await globalThis.fetch(url, { method, headers, body: body && JSON.stringify(body) });
    return { status: answer.status, text: await answer.text() };
  };
  const change = async (...request) => {
    const { status, text } = await send(writer, ...request);
    if (status >= 300) throw new Error(`${status} ${text}`);
  };
  const publish = (name) => change('POST', '/v1/entries', { server: aServer(name) });
  const remove = (name) => change('DELETE', `/v1/entries/server/${encodeURIComponent(name)}/versions/1.0.0`);

  for (const name of STANDING) await publish(name);
  await received();
  await standby.query('select pg_wal_replay_pause()');

  const counts = { right: 0, refused: 0, stale: 0 };
  let [name, isThere] = ['', false];
  for (let read = 0; read < Number(values.reads); read += 1) {
    if (read % READS.length === 0) {
      // First deletes what the standby has, then publishes and deletes what it never gets.
      const step = read / READS.length - STANDING.length;
      isThere = step >= 0 && step % 2 === 0;
      name = step < 0 ? STANDING[step + STANDING.length] : `io.acme/fresh-${step >> 1}`;
      await (isThere ? publish(name) : remove(name));
    }
    const path = READS[read % READS.length](name);
    const { status, text } = await send(reader, 'GET', path);
    const isShown = text.includes(`"${name}"`) || text.includes(`>${name} `);
    const isRight = isShown === isThere;
    if (status === 503) counts.refused += 1;
    else if (isRight) counts.right += 1;
    else {
      counts.stale += 1;
      console.log(`stale: ${status} ${path} ${text.slice(0, 300)}`);
    }
  }
  const nodes = await selectsOf(port);
  console.log(`${values.reads} reads: ${JSON.stringify(counts)}; statements sent to each node: ${nodes}`);
  process.exitCode = counts.stale > 0 || counts.right === 0 ? 1 : 0;
});

/** Starts pgpool-II with load balancing; returns its port. */
async function pgpool(folder, servers, atEnd) {
  const [directory, port, pcpPort] = [join(folder, 'pgpool'), await freePort(), await freePort()];
  await mkdir(directory);
  const backends = servers.flatMap((server, index) => [
    [`backend_hostname${index}`, "'127.0.0.1'"],
    [`backend_port${index}`, server.port],
    [`backend_weight${index}`, 1],
    [`backend_flag${index}`, "'DISALLOW_TO_FAILOVER'"],
  ]);
  const settings = [
    ['backend_clustering_mode', "'streaming_replication'"],
    ['listen_addresses', "'127.0.0.1'"],
    ['port', port],
    ['pcp_port', pcpPort],
    ...['unix_socket_directories', 'pcp_socket_dir', 'wd_ipc_socket_dir', 'logdir'].map((one) => [
      one,
      `'${directory}'`,
    ]),
    ['pid_file_name', `'${directory}/pid'`],
    ...backends,
    ['load_balance_mode', 'on'],
    ['statement_level_load_balance', 'on'],
    ['disable_load_balance_on_write', "'off'"],
    ['sr_check_period', 1],
    ['sr_check_user', "'registry'"],
    ['sr_check_database', "'postgres'"],
    ['delay_threshold', 0],
    ['num_init_children', 60],
    ['max_pool', 1],
  ];
  const file = join(directory, 'pgpool.conf');
  await writeFile(file, settings.map(([key, value]) => `${key} = ${value}\n`).join(''));
  await writeFile(join(directory, 'pcp.conf'), '');
  await giveToPostgres(directory);
  const child = startAsPostgres('pgpool', '-n', '-f', file, '-F', join(directory, 'pcp.conf'));
  atEnd(async () => {
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGINT');
    await ended;
  });
  await until('pgpool-II knows the primary and the standby', async () => {
    const nodes = await nodesOf(port);
    return nodes.map(({ role }) => role).join() === 'primary,standby';
  });
  return port;
}

async function nodesOf(port) {
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'registry', database: 'postgres' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query('show pool_nodes')).rows;
  } finally {
    await client.end();
  }
}

async function selectsOf(port) {
  return (await nodesOf(port)).map(({ role, select_cnt: count }) => `${role} ${count}`).join(', ');
}
