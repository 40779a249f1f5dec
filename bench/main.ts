// npm run bench -- [--quick] [--only <name>,…] [--attack <name>,…] [--json <file>] [--profile <folder>]
// Starts its own PostgreSQL server and leaves only the JSON file behind, plus CPU profiles of the services with
// `--profile`. Figures are printed and written after each benchmark, so an interrupted run keeps the finished ones.
import { parseArgs } from 'node:util';
import { measureAdmission } from './admission.js';
import { measureUnderAttack } from './attack/under-attack.js';
import { measureAuthentication } from './authentication.js';
import { measureChanges } from './changes.js';
import { measureFirstReads } from './first-reads.js';
import { type Figure, isMet } from './harness/figure.js';
import { topOfNewestProfile } from './harness/profile.js';
import { describeMachine, say, table, writeJson } from './harness/report.js';
import { Stage } from './harness/stage.js';
import { measureKeys } from './keys.js';
import { measureLists } from './lists.js';
import { measureMcp } from './mcp.js';
import { measureMemory } from './memory.js';
import { measurePublishing } from './publishing.js';
import { measureRankedSearches } from './ranked-search.js';
import { measureSearches } from './search.js';
import { measureSizes } from './sizes.js';
import { measureStartUp } from './start-up.js';
import { measureSync } from './sync.js';
import { measureTelemetry } from './telemetry.js';
import { measureVisibility } from './visibility.js';

type Measure = (stage: Stage, quick: boolean) => Promise<Figure[]>;

/**
 * Order matters: syncs run in this process and come first, before it accumulates garbage; benchmarks with equal
 * claim sets are adjacent, because redistributing claim sets is slow.
 */
const BENCHMARKS: Record<string, Measure> = {
  sync: (_stage, quick) => measureSync(quick),
  admission: (_stage, quick) => measureAdmission(quick),
  authentication: measureAuthentication,
  keys: measureKeys,
  lists: measureLists,
  mcp: measureMcp,
  'first-reads': measureFirstReads,
  telemetry: measureTelemetry,
  memory: measureMemory,
  sizes: measureSizes,
  search: measureSearches,
  'ranked-search': measureRankedSearches,
  'start-up': measureStartUp,
  visibility: measureVisibility,
  changes: measureChanges,
  publishing: measurePublishing,
  'under-attack': (stage, quick) => measureUnderAttack(stage, quick, values.attack?.split(',')),
};

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    attack: { type: 'string' },
    json: { type: 'string', default: 'data/bench.json' },
    profile: { type: 'string' },
  },
});
const only = values.only?.split(',') ?? Object.keys(BENCHMARKS);
const unknown = only.filter((name) => !Object.hasOwn(BENCHMARKS, name));
if (unknown.length > 0)
  throw new Error(`Unknown: ${unknown.join(', ')}. Choose from ${Object.keys(BENCHMARKS).join(', ')}`);

const began = performance.now();
const stage = await Stage.open(values.profile);
const figures: Figure[] = [];
const failed: string[] = [];
try {
  const machine = await describeMachine(await stage.postgresVersion());
  for (const name of only) {
    say(`${name} (${Math.round((performance.now() - began) / 1_000)} s so far)`);
    try {
      const measured = (await BENCHMARKS[name]?.(stage, values.quick)) ?? [];
      say(table(measured, machine));
      figures.push(...measured);
    } catch (error) {
      // The others are still worth an hour of measuring.
      say(`${name} failed: ${error instanceof Error ? error.stack : String(error)}`);
      failed.push(name);
    }
    await writeJson(values.json, figures, machine, values.quick);
  }
  console.log(table(figures, machine));
} finally {
  await stage.close();
}
if (values.profile !== undefined)
  for (const line of await topOfNewestProfile(values.profile, 20)) console.log(line);
say(`${Math.round((performance.now() - began) / 1_000)} s`);
if (failed.length > 0) say(`Failed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 && figures.every(isMet) ? 0 : 1;
