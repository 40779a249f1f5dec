// Runs the API tests on another version of PostgreSQL, optionally through PgBouncer.
import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { connect } from 'node:net';
import {
  freePort,
  giveToPostgres,
  inFolder,
  Postgres,
  readArguments,
  ROOT,
  startAsPostgres,
  until,
} from './programs.mjs';

const USAGE =
  'node scripts/operations/postgres-versions.mjs BINARIES [--pooler session|transaction] [-- FILE…]';
const { values, positionals } = readArguments(USAGE, {
  allowPositionals: true,
  options: { pooler: { type: 'string' } },
});
const [binaries, ...files] = positionals;
if (!binaries || ![undefined, 'session', 'transaction'].includes(values.pooler)) {
  process.stderr.write(`Usage: ${USAGE}\n`);
  process.exit(2);
}

await inFolder(async (folder, atEnd) => {
  const fast = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=200'];
  const postgres = await Postgres.start(binaries, folder, fast);
  atEnd(() => postgres.stop());
  const [{ version }] = await postgres.query('select version()');
  process.stdout.write(`${version}\n`);
  const environment = {
    ...process.env,
    TEST_POSTGRES: `postgres://registry@127.0.0.1:${postgres.port}/postgres`,
  };
  if (values.pooler) environment.TEST_POOLER_PORT = `${await pooler(folder, postgres, values.pooler, atEnd)}`;
  const tests = files.length > 0 ? files : ['test/api', 'test/system'];
  // In another network namespace, this test reaches PostgreSQL through its socket only.
  const exclude = ['--exclude', 'test/api/outbound.internet.spec.ts'];
  const vitest = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...tests, ...exclude], {
    cwd: ROOT,
    env: environment,
    stdio: 'inherit',
  });
  atEnd(() => vitest.kill());
  process.exitCode = await new Promise((done) => vitest.once('exit', done));
});

/** Starts PgBouncer as in docs/postgresql.md; returns its port. */
async function pooler(folder, postgres, mode, atEnd) {
  const [directory, port] = [join(folder, 'pgbouncer'), await freePort()];
  await mkdir(directory);
  await writeFile(join(directory, 'users'), '"registry" ""\n');
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: join(directory, 'users'),
    pool_mode: mode,
    max_client_conn: 1_000,
    default_pool_size: 20,
    ignore_startup_parameters: 'statement_timeout',
    logfile: join(directory, 'log'),
  };
  const lines = Object.entries(settings).map(([key, value]) => `${key}=${value}\n`);
  const file = join(directory, 'pgbouncer.ini');
  await writeFile(
    file,
    `[databases]\n* = host=127.0.0.1 port=${postgres.port}\n[pgbouncer]\n${lines.join('')}`,
  );
  await giveToPostgres(directory);
  const child = startAsPostgres('pgbouncer', file);
  atEnd(() => child.kill('SIGINT'));
  const answers = () =>
    new Promise((done) => {
      const socket = connect(port, '127.0.0.1', () => done(socket.destroy()));
      socket.once('error', () => done(false));
    });
  await until('PgBouncer answers', answers);
  return port;
}
