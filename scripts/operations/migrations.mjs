/* global AbortController */
// Applies every migration since an older version while its server answers requests, and while a `pg_dump` and a transaction
// that is idle keep locks on all tables most of the time. No request may take more than two seconds.
import { spawn } from 'node:child_process';
import console from 'node:console';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { countsOf, Load } from './load.mjs';
import {
  aServer,
  BINARIES,
  inFolder,
  MAIN,
  Postgres,
  readArguments,
  Replica,
  writeConfiguration,
} from './programs.mjs';

const USAGE = `node scripts/operations/migrations.mjs 0.1.0/dist/main.js [--versions 200000] [--with-v 0.1] [--rate 10] [--binaries ${BINARIES}]`;
const { values, positionals } = readArguments(USAGE, {
  allowPositionals: true,
  options: {
    versions: { type: 'string', default: '200000' },
    'with-v': { type: 'string', default: '0.1' },
    rate: { type: 'string', default: '10' },
    binaries: { type: 'string', default: BINARIES },
  },
});
const [versions, withV, rate] = [values.versions, values['with-v'], values.rate].map(Number);
const [older] = positionals;
if (positionals.length !== 1 || !(versions > 0 && rate > 0 && withV >= 0)) {
  console.error(`Usage: ${USAGE}`);
  process.exit(2);
}
const VERSIONS_A_NAME = 5;
const LIMIT_MS = 2_000;
/** How long the dump and the idle transaction keep their locks, and the time between. */
const [HELD_MS, FREE_MS] = [10_000, 3_000];

await inFolder(async (folder, atEnd) => {
  const postgres = await Postgres.start(values.binaries, folder, ['max_connections=200']);
  atEnd(() => postgres.stop());
  const database = { host: '127.0.0.1', port: postgres.port, user: 'registry', database: 'postgres' };
  const config = await writeConfiguration(folder, database);
  const replica = await Replica.at(config);
  await replica.start(older);
  atEnd(() => replica.stop());
  const names = Array.from({ length: versions / VERSIONS_A_NAME }, (_, index) => `io.acme/s${index}`);
  await fill(postgres, names.length);
  const [{ size }] = await postgres.query(`select pg_size_pretty(pg_database_size('postgres')) as size`);
  console.log(`${versions} versions, ${size}`);

  const load = new Load({ portOf: () => replica.port, rate, publicationEvery: 5, names });
  const holding = new AbortController();
  const held = holdLocks(database, values.binaries, holding.signal);
  await pause(FREE_MS);
  const began = Date.now();
  const output = await migrate(config, folder);
  const tookMs = Date.now() - began;
  await pause(FREE_MS);
  holding.abort();
  const dumps = await held;
  await load.stop();
  console.log(output.trim());

  const { failed, answers, acknowledged } = load;
  const slow = answers.filter((answer) => answer.tookMs > LIMIT_MS);
  for (const { at, tookMs: ms, method, status, text } of [...new Set([...failed, ...slow])].slice(0, 20))
    console.log(`${((at - began) / 1_000).toFixed(1)} s`, method, status, `${ms} ms`, text);
  const slowest = (method) =>
    Math.max(...answers.filter((answer) => answer.method === method).map((answer) => answer.tookMs));
  const missing = await load.missing(replica.port);
  console.log(
    `migrated in ${(tookMs / 1_000).toFixed(1)} s; ${dumps} dumps; ${answers.length} requests ${countsOf(answers)}: ${slow.length} above ${LIMIT_MS} ms, the slowest GET took ${slowest('GET')} ms, the slowest POST ${slowest('POST')} ms`,
  );
  console.log(
    `${missing.length} of ${acknowledged.length} acknowledged publications are missing; machine load ${load.machineLoad}`,
  );
  process.exitCode = failed.length + slow.length + missing.length > 0 ? 1 : 0;
});

/** Adds entries as the older version stores them. */
async function fill(postgres, entries) {
  await postgres.query(`set synchronous_commit = off;
    insert into entry (source_id, type, name, claim_set_id)
    select s.id, 'server', 'io.acme/s' || n, s.claim_set_id from source s, generate_series(0, ${entries - 1}) n`);
  const document = `(${literal(JSON.stringify(aServer('NAME')))})`;
  await postgres.query(`
    insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at, published_at,
      updated_at, is_latest, search)
    select e.id, v.version,
      case when v.version like 'v%' then '0' || lpad((1767225600000 + n)::text, 16, '0') || ' ' || v.version
        else '1001' || '1001' || n || '0010~ !' || v.version end,
      replace(replace(${document}, 'NAME', e.name), '"1.0.0"', '"' || v.version || '"'), '\\x${createHash('sha256').digest('hex')}',
      'active', now(), now(), now(), n = ${VERSIONS_A_NAME},
      lower(e.name) || ' a server for everything that begins with ' || md5(e.name)
    from entry e cross join generate_series(1, ${VERSIONS_A_NAME}) n
    cross join lateral (
      select case when e.id % 1000 < ${withV * 1_000} then 'v' else '' end || '1.' || n || '.0' as version
    ) v`);
  await postgres.query('vacuum analyze');
  await postgres.query('update source set revision = revision + 1');
}

function literal(text) {
  return `'${text.replaceAll("'", "''")}'`;
}

async function migrate(config, folder) {
  const child = spawn(process.execPath, [MAIN, 'migrate', 'up', '--config', config], { cwd: folder });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  const code = await new Promise((done) => child.once('close', done));
  await writeFile(join(folder, 'migrate.log'), output);
  if (code !== 0) throw new Error(`migrate up: exit code ${code}\n${output}`);
  return output;
}

/**
 * Repeats a `pg_dump`, and a transaction that has read every table and then is idle. Resolves with the number of dumps.
 */
async function holdLocks(database, binaries, signal) {
  const client = new pg.Client(database);
  await client.connect();
  let dumps = 0;
  while (!signal.aborted) {
    const dump = startDump(database, binaries);
    await client.query('begin');
    const tables = await client.query(`select tablename as name from pg_tables where schemaname = 'public'`);
    for (const { name } of tables.rows) await client.query(`select 1 from ${name} limit 1`);
    await pause(HELD_MS);
    await client.query('commit');
    if (await dump.finish()) dumps += 1;
    await pause(FREE_MS);
  }
  await client.end();
  return dumps;
}

/** Starts a dump that nothing reads, so that it keeps its locks until `finish`, which resolves with its success. */
function startDump({ host, port, user, database }, binaries) {
  const args = ['-h', host, '-p', `${port}`, '-U', user, database];
  const child = spawn(join(binaries, 'pg_dump'), args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((done) => child.once('close', done));
  return {
    finish: async () => {
      child.stdout.resume();
      return (await ended) === 0;
    },
  };
}
