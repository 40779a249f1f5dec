// Restarts two replicas in turn, repeatedly, while requests arrive through a load balancer. No request may fail.
// With `--from`, both replicas start as an older version, and each restart replaces one with the current build.
// `nginx` as the balancer needs nginx.
import console from 'node:console';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { nginx, pollingBalancer } from './balancers.mjs';
import { countsOf, Load } from './load.mjs';
import { inFolder, MAIN, readArguments, twoReplicas, ROOT, writeConfiguration } from './programs.mjs';

const USAGE =
  'node scripts/operations/rolling-restarts.mjs poll|nginx [--period 5000] [--rounds 10] [--rate 50] [--from OLDER/dist/main.js]';
const { values, positionals } = readArguments(USAGE, {
  allowPositionals: true,
  options: {
    period: { type: 'string', default: '5000' },
    rounds: { type: 'string', default: '10' },
    rate: { type: 'string', default: '50' },
    from: { type: 'string' },
  },
});
const [period, rounds, rate] = [values.period, values.rounds, values.rate].map(Number);
const [kind] = positionals;
if (
  positionals.length !== 1 ||
  !['poll', 'nginx'].includes(kind) ||
  ![period, rounds, rate].every((one) => one > 0)
) {
  console.error(`Usage: ${USAGE}`);
  process.exit(2);
}

await inFolder(async (folder, atEnd) => {
  const { startEmbeddedPostgres } = await import(join(ROOT, 'dist/database/embedded/embedded-postgres.js'));
  const postgres = await startEmbeddedPostgres(join(folder, 'postgres'));
  atEnd(() => postgres.stop());
  const { host, port, user, database } = postgres.connection;
  const names = Array.from({ length: 200 }, (_, index) => `io.acme/s${index}`);
  const config = await writeConfiguration(folder, { host, port, user, database }, names);
  const replicas = await twoReplicas(config, atEnd, values.from);
  const balancer = await (kind === 'nginx' ? nginx(replicas, folder) : pollingBalancer(replicas, period));
  atEnd(() => balancer.close());
  const load = new Load({ portOf: () => balancer.port, rate, publicationEvery: 5, names });
  await pause(2_000);
  for (let round = 1; round <= (values.from ? 1 : rounds); round += 1)
    for (const replica of replicas) {
      // An older version may stop immediately, so remove it from the balancer first, like a pod's preStop hook.
      replica.isOut = replica.main !== MAIN;
      if (replica.isOut) await pause(5_500);
      const stoppedMs = await replica.stop();
      const readyMs = await replica.start(MAIN);
      replica.isOut = false;
      await pause(Math.max(period, 5_000) + 500);
      console.log(
        `${round}: stopped in ${stoppedMs} ms, ready in ${readyMs} ms, ${load.failed.length} of ${load.answers.length} failed`,
      );
    }
  await load.stop();
  const { failed, answers, acknowledged } = load;
  for (const { at, method, status, text, replica } of failed.slice(0, 20))
    console.log(new Date(at).toISOString(), method, status, replica ?? '', text);
  const slowest = Math.max(...answers.map(({ tookMs }) => tookMs));
  const missing = await load.missing(replicas[0].port);
  console.log(
    `${kind === 'poll' ? `${period} ms` : kind}: ${failed.length} of ${answers.length} failed ${countsOf(failed)}, the slowest took ${slowest} ms;`,
  );
  console.log(
    `${missing.length} of ${acknowledged.length} acknowledged publications are missing; machine load ${load.machineLoad}`,
  );
  process.exitCode = failed.length + missing.length > 0 ? 1 : 0;
});
