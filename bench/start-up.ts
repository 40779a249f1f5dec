import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SEES_ALL } from './data/catalogue.js';
import { atMost, type Figure, figure, reportedOnly } from './harness/figure.js';
import { say } from './harness/report.js';
import { median, rounds, timeOf } from './harness/rounds.js';
import { listPath, MAIN, startService } from './harness/service.js';
import type { Catalogue, Stage } from './harness/stage.js';

const LATER = 30;

/**
 * Measures how long another replica takes from process start to readiness, and whether its first list is slower
 * than later ones.
 */
export async function measureStartUp(stage: Stage, quick: boolean): Promise<Figure[]> {
  const versions = quick ? 100_000 : 1_000_000;
  const small = await stage.catalogue(1_000, 20);
  const large = await stage.catalogue(versions, 20);
  const token = stage.issuer.tokenOf(SEES_ALL);
  const start = async (catalogue: Catalogue) => {
    const service = await startService(stage, catalogue);
    const ask = () => timeOf(() => service.get(listPath({ limit: 30 }), token));
    const first = await ask();
    const later: number[] = [];
    for (let request = 0; request < LATER; request += 1) later.push(await ask());
    await service.stop();
    return { seconds: service.readyAfterMs / 1_000, first, later: median(later) };
  };
  const measured = await rounds(quick ? 3 : 7, async (round) => {
    say(`start-up, round ${round}`);
    return { small: await start(small), large: await start(large) };
  });
  const commands = await measureCommands(stage, quick ? 3 : 7);
  const row = `start-up at ${versions} versions`;
  const firsts = (of: 'small' | 'large') => median(measured.map((round) => round[of].first)).toFixed(1);
  return [
    ...commands,
    figure(
      row,
      'seconds to ready',
      measured.map(({ large: { seconds } }) => seconds),
      atMost(3.5),
    ),
    figure(
      row,
      'ratio to start-up at 1000 versions',
      measured.map((round) => round.large.seconds / round.small.seconds),
      atMost(1.5),
    ),
    figure(
      row,
      'first list / same list later',
      measured.map(({ large: { first, later } }) => first / later),
      reportedOnly,
    ),
    figure(
      row,
      'first list / first list at 1000 versions',
      measured.map((round) => round.large.first / round.small.first),
      atMost(1.5),
      `${firsts('large')} ms, at 1000 ${firsts('small')} ms`,
    ),
  ];
}

/** Measures commands of the program that start no server, from process start to exit. */
async function measureCommands(stage: Stage, count: number): Promise<Figure[]> {
  const file = join(stage.folder, 'checked.yaml');
  const auth = { mode: 'anonymous' };
  const sources = [{ name: 'published', managed: {} }];
  await writeFile(
    file,
    JSON.stringify({ auth, sources, registries: [{ name: 'main', sources: ['published'] }] }),
  );
  const run = promisify(execFile);
  const measured = await rounds(count, async () => ({
    version: await timeOf(() => run(process.execPath, [MAIN, '--version'])),
    check: await timeOf(() => run(process.execPath, [MAIN, 'check', '--config', file])),
  }));
  const one = (command: 'version' | 'check', limit: number) =>
    figure(
      command === 'version' ? '--version' : command,
      'milliseconds',
      measured.map((round) => round[command]),
      atMost(limit),
    );
  return [one('version', 500), one('check', 1_500)];
}
