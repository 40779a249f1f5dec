import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { type Figure, isMet } from './figure.js';

/** The machine that produced the figures: even ratios vary between machines. */
export interface Machine {
  readonly cpus: number;
  readonly model: string;
  readonly memoryGiB: number;
  /** 1-minute load average before the benchmark. If it exceeds the number of CPUs, the figures are unreliable. */
  readonly load: number;
  readonly platform: string;
  readonly node: string;
  readonly postgres: string;
  readonly date: string;
  /** Ends with `+` if files differ from the commit; empty outside a repository. */
  readonly commit: string;
}

export async function describeMachine(postgres: string): Promise<Machine> {
  return {
    cpus: availableParallelism(),
    model: cpus()[0]?.model.trim() ?? '',
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
    platform: `${process.platform}-${process.arch}`,
    node: process.version,
    postgres,
    date: new Date().toISOString(),
    commit: await commit(),
  };
}

/** Progress goes to standard error; standard output has only the table. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

export function table(figures: readonly Figure[], machine: Machine): string {
  const rows = figures.map((figure) => [
    figure.row,
    figure.measure,
    rounded(figure.value),
    Number.isFinite(figure.target) ? `${figure.atMost ? '≤' : '≥'} ${figure.target}` : '',
    Number.isFinite(figure.target) ? (isMet(figure) ? 'met' : 'MISSED') : '',
    `${rounded(Math.min(...figure.rounds))} … ${rounded(Math.max(...figure.rounds))}`,
    figure.note ?? '',
  ]);
  const head = ['path', 'measure', 'median', 'target', '', 'rounds', 'note'];
  const widths = head.map((title, column) =>
    Math.max(title.length, 1, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const { cpus: count, model, memoryGiB, load, platform, node, postgres, date, commit: at } = machine;
  return [
    line(head),
    line(widths.map((width) => '-'.repeat(width))),
    ...rows.map(line),
    '',
    `${count} × ${model} (load ${load}), ${memoryGiB} GiB, ${platform}; Node ${node}, PostgreSQL ${postgres}; ${date}, commit ${at}`,
  ].join('\n');
}

/** Writes all figures as JSON; figures without a target have null as target. */
export async function writeJson(
  file: string,
  figures: readonly Figure[],
  machine: Machine,
  quick: boolean,
): Promise<void> {
  const judged = figures.map((figure) => ({ ...figure, met: isMet(figure) }));
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify({ machine, quick, figures: judged }, null, 2)}\n`);
}

function rounded(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(2);
}

async function commit(): Promise<string> {
  const git = (...args: string[]) => promisify(execFile)('git', args);
  try {
    const [head, changes] = [
      await git('rev-parse', '--short', 'HEAD'),
      await git('status', '--porcelain', '-uno'),
    ];
    return `${head.stdout.trim()}${changes.stdout === '' ? '' : '+'}`;
  } catch {
    return '';
  }
}
