// Backs up, restores and moves a database with the exact commands from docs/postgresql.md. Responses must stay the
// same, and cursors must remain valid. Uses Debian's PostgreSQL unless `--binaries` specifies another installation.
import { execFile } from 'node:child_process';
import console from 'node:console';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { isDeepStrictEqual, promisify } from 'node:util';
import {
  aServer,
  BINARIES,
  inFolder,
  MAIN,
  Postgres,
  readArguments,
  Replica,
  ROOT,
  writeConfiguration,
} from './programs.mjs';

const USAGE = `node scripts/operations/restore.mjs [--binaries ${BINARIES}]`;
const { values } = readArguments(USAGE, { options: { binaries: { type: 'string', default: BINARIES } } });
const LIST = '/registry/main/v0.1/servers';
const names = Array.from({ length: 20 }, (_, index) => `io.acme/s${index}`);

const guide = await readFile(join(ROOT, 'docs/postgresql.md'), 'utf8');
const [, chapter = ''] = guide.split('\n## Backup and restore\n');
// The URLs in the document are examples; the environment has those of this database.
const [backUp, restore, move] = [...chapter.matchAll(/```sh\n(.*?)```/gs)].map(([, command]) =>
  command.replace(/^(NEW_)?DATABASE_URL=.*\n/gm, ''),
);

await inFolder(async (folder, atEnd) => {
  const postgres = await Postgres.start(values.binaries, folder);
  atEnd(() => postgres.stop());
  await postgres.query('create role owner login');
  const databaseOf = async (name) => {
    await postgres.query(`create database ${name} owner owner`);
    return { host: '127.0.0.1', port: postgres.port, user: 'owner', database: name };
  };
  const urlOf = ({ user, host, port, database }) => `postgres://${user}@${host}:${port}/${database}`;
  const serving = async (database, work) => {
    const config = await writeConfiguration(folder, database, names);
    const replica = await Replica.at(config, {
      REGISTRY_DATA_DIR: join(folder, 'data'),
      REGISTRY_SHUTDOWN_NOTICE: '0s',
    });
    await replica.start();
    try {
      return await work(`http://127.0.0.1:${replica.port}`);
    } finally {
      await replica.stop();
    }
  };
  const shell = (command, environment) => {
    const program = `set -e\n${command.replaceAll('registry-server ', `'${process.execPath}' '${MAIN}' `)}`;
    const env = { ...process.env, PATH: `${values.binaries}:${process.env['PATH']}`, ...environment };
    return promisify(execFile)('sh', ['-c', program], { cwd: folder, env });
  };
  const compare = (what, before, after) => {
    const isEqual = isDeepStrictEqual(before, after);
    console.log(`${isEqual ? 'equal  ' : 'DIFFERS'}  ${what}`);
    if (!isEqual) process.exitCode = 1;
  };

  const [first, restored] = [await databaseOf('first'), await databaseOf('restored')];
  let cursor;
  const before = await serving(first, async (origin) => {
    await publish(origin, 'io.acme/before');
    cursor = (await json(`${origin}${LIST}?limit=5`)).metadata.nextCursor;
    const answers = await answersOf(origin, cursor);
    await shell(backUp, { DATABASE_URL: urlOf(first) });
    await publish(origin, 'io.acme/after');
    return answers;
  });
  await shell(restore, { NEW_DATABASE_URL: urlOf(restored) });
  compare('restored', before, await serving(restored, (origin) => answersOf(origin, cursor)));

  const embedded = await serving(undefined, async (origin) => {
    await publish(origin, 'io.acme/embedded');
    return answersOf(origin, cursor);
  });
  const moved = await databaseOf('moved');
  await writeConfiguration(folder, undefined, names);
  const command = move.replace(/postgres:\/\/\S+/, urlOf(moved));
  await shell(command, { REGISTRY_DATA_DIR: join(folder, 'data') });
  compare(
    'moved from the embedded PostgreSQL',
    embedded,
    await serving(moved, (origin) => answersOf(origin, cursor)),
  );
});

async function publish(origin, name) {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ server: aServer(name) });
  const { status } = await globalThis.fetch(`${origin}/v1/entries`, { method: 'POST', headers, body });
  if (status !== 201) throw new Error(`A publication was answered with ${status}`);
}

async function json(url) {
  return (await globalThis.fetch(url)).json();
}

/** Consumer responses, and the publications in the audit trail; excludes the syncs of each start. */
async function answersOf(origin, cursor) {
  const { events } = await json(`${origin}/v1/audit`);
  return {
    lists: await Promise.all(
      ['limit=100', 'search=acme', `cursor=${cursor}`].map((query) => json(`${origin}${LIST}?${query}`)),
    ),
    publications: events.filter(({ action }) => action === 'entry.publish'),
  };
}
