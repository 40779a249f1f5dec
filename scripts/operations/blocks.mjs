// Blocks 100,000 versions by one glob with two replicas. Measures the time of the request, how long afterwards the
// other replica still shows one of them, and how long reads of other names take in the meantime.
import console from 'node:console';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { aServer, BINARIES, inFolder, Postgres, readArguments, twoReplicas, until } from './programs.mjs';

const USAGE = `node scripts/operations/blocks.mjs [--binaries ${BINARIES}] [--names 10000] [--versions 10]`;
const { values } = readArguments(USAGE, {
  options: {
    binaries: { type: 'string', default: BINARIES },
    names: { type: 'string', default: '10000' },
    versions: { type: 'string', default: '10' },
  },
});
const [names, versions] = [Number(values.names), Number(values.versions)];
const JSON_BODY = { 'content-type': 'application/json' };

const catalogue = (servers) =>
  JSON.stringify({ version: '1.0.0', meta: { last_updated: '2026-01-01T00:00:00Z' }, data: { servers } });
const all = Array.from({ length: names }, (_, name) =>
  Array.from({ length: versions }, (_, at) => ({ ...aServer(`io.evil/s${name}`), version: `1.${at}.0` })),
).flat();
const others = Array.from({ length: 100 }, (_, at) => aServer(`io.good/s${at}`));

await inFolder(async (folder, atEnd) => {
  const postgres = await Postgres.start(values.binaries, folder, ['shared_buffers=256MB']);
  atEnd(() => postgres.stop());
  const source = async (name, servers) => {
    const path = join(folder, `${name}.json`);
    await writeFile(path, catalogue(servers));
    return { name, file: { path }, syncPolicy: { interval: '24h' } };
  };
  const sources = [await source('evil', all), await source('good', others)];
  const config = join(folder, 'registry.yaml');
  const database = { host: '127.0.0.1', port: postgres.port, user: 'registry', database: 'postgres' };
  const registries = [{ name: 'main', sources: ['evil', 'good'] }];
  await writeFile(config, JSON.stringify({ auth: { mode: 'anonymous' }, database, sources, registries }));
  const [one, other] = await twoReplicas(config, atEnd);
  const at = ({ port }, path) => `http://127.0.0.1:${port}${path}`;
  const lists = (replica, search) =>
    globalThis.fetch(at(replica, `/registry/main/v0.1/servers?limit=10&search=${search}`));
  const byName = (replica, name) =>
    globalThis.fetch(at(replica, `/registry/main/v0.1/servers/${encodeURIComponent(name)}/versions/latest`));
  const shows = async (replica) => (await byName(replica, `io.evil/s${names - 1}`)).status === 200;
  await until(
    'both replicas show the servers',
    async () => (await shows(one)) && (await shows(other)),
    300_000,
  );

  const ask = async (read) => {
    const began = performance.now();
    const reply = await read();
    await reply.arrayBuffer();
    if (!reply.ok) throw new Error(`a read failed: ${reply.status}`);
    return performance.now() - began;
  };
  const reads = [
    ['a name', () => byName(other, 'io.good/s7')],
    ['a page', () => globalThis.fetch(at(other, '/registry/main/v0.1/servers?limit=30&cursor='))],
    ['a name, from the replica that blocks', () => byName(one, 'io.good/s7')],
  ];
  // Reads every 20 ms until it is stopped.
  const watch = () => {
    let isOver = false;
    const times = new Map(reads.map(([what]) => [what, []]));
    const done = (async () => {
      while (!isOver) {
        for (const [what, read] of reads) times.get(what).push(await ask(read));
        await pause(20);
      }
      return times;
    })();
    // A failure elsewhere ends the replicas, and so the reads.
    done.catch(() => undefined);
    return () => ((isOver = true), done);
  };
  const report = (when, times) => {
    for (const [what, found] of times) {
      const sorted = found.toSorted((a, b) => a - b);
      const part = (share) => sorted[Math.floor(share * (sorted.length - 1))].toFixed(1);
      console.log(
        `reads of ${what} ${when}: median ${part(0.5)} ms, p99 ${part(0.99)} ms, longest ${part(1)} ms of ${sorted.length}`,
      );
    }
  };
  const measured = async (what, work) => {
    const stop = watch();
    const began = performance.now();
    const reply = await work();
    const ended = performance.now();
    if (!reply.ok) throw new Error(`${what}: ${reply.status} ${await reply.text()}`);
    console.log(`${what}: ${((ended - began) / 1_000).toFixed(2)} s`);
    report('meanwhile', await stop());
    return ended;
  };
  const quiet = watch();
  await pause(3_000);
  report('before', await quiet());

  const block = { names: ['io.evil/*'], reason: 'SEC-1' };
  const put = { method: 'PUT', headers: JSON_BODY, body: JSON.stringify(block) };
  const ended = await measured(`blocking ${all.length} versions`, () =>
    globalThis.fetch(at(one, '/v1/blocks/sec-1'), put),
  );
  const isHidden = async () =>
    !(await shows(other)) && ((await (await lists(other, 'io.evil')).json()).servers ?? []).length === 0;
  await until('the other replica hides them', isHidden);
  console.log(
    `hidden by name and in lists on the other replica ${(performance.now() - ended).toFixed(0)} ms after the answer`,
  );
  await measured('deleting the block', () =>
    globalThis.fetch(at(one, '/v1/blocks/sec-1'), { method: 'DELETE' }),
  );
});
