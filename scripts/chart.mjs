// Lints the Helm chart, renders it with each of its `ci/*-values.yaml`, and compares the output with
// test/conventions/chart; `--update` overwrites those files. Also checks that the values of chart-refusals.yaml are
// refused with their reasons, and what their allowed counterparts render. Uses `helm`, or the program in HELM. The
// tests read the rendered files and compare the digest of the chart and the refusals with the stored one, so they do
// not need helm.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import console from 'node:console';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

const ROOT = resolve(import.meta.dirname, '..');
const CHART = join(ROOT, 'deploy/helm/registry-server');
const RENDERED = join(ROOT, 'test/conventions/chart');
const REFUSALS = join(ROOT, 'test/conventions/chart-refusals.yaml');
const HELM = process.env['HELM'] || 'helm';
const KUBERNETES = ['--kube-version', '1.34'];
const TEMPLATE = ['template', 'registry', CHART, '--namespace', 'mcp', ...KUBERNETES];

/** Digest of the chart and its refusals, ignoring the version, which changes with every release. */
export function chartDigest() {
  const hash = createHash('sha256').update(textOf(REFUSALS));
  const files = readdirSync(CHART, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.(ya?ml|tpl|json)$/.test(file),
  );
  for (const file of files.sort()) hash.update(file).update(withoutVersion(textOf(join(CHART, file))));
  return hash.digest('hex');
}

function withoutVersion(text) {
  const [, version] = /^version: (.+)$/m.exec(textOf(join(CHART, 'Chart.yaml'))) ?? [];
  // The name of the migrations Job contains a digest of its pod, whose image has the version.
  return text.replaceAll(version, 'VERSION').replaceAll(/-migrate-[0-9a-f]{8}\b/g, '-migrate-DIGEST');
}

function textOf(file) {
  return readFileSync(file, 'utf8');
}

function render(values) {
  const flags = [...KUBERNETES, '--values', values];
  execFileSync(HELM, ['lint', '--strict', ...flags, CHART], { stdio: ['ignore', 'ignore', 'inherit'] });
  return withoutVersion(execFileSync(HELM, [...TEMPLATE, '--values', values], { encoding: 'utf8' }));
}

/** Returns what Helm renders with these values, or why it refuses them. */
function outcomeOf(values) {
  const flags = [...TEMPLATE, '--values', '-'];
  const { status, stdout, stderr } = spawnSync(HELM, flags, {
    input: JSON.stringify(values),
    encoding: 'utf8',
  });
  return status === 0 ? { rendered: stdout } : { refusal: stderr };
}

function main() {
  const refusals = parse(textOf(REFUSALS));
  const problems = refusals.flatMap(({ refused, because, allowed, shows = [], hides = [] }) => {
    const { refusal } = outcomeOf(refused);
    const { rendered = '', refusal: other } = outcomeOf(allowed);
    return [
      ...(refusal?.includes(because) ? [] : [`not refused because of "${because}": ${refusal}`]),
      ...(other === undefined ? [] : [`${JSON.stringify(allowed)} is refused: ${other}`]),
      ...shows
        .filter((text) => !rendered.includes(text))
        .map((text) => `${JSON.stringify(allowed)} hides ${text}`),
      ...hides
        .filter((text) => rendered.includes(text))
        .map((text) => `${JSON.stringify(allowed)} shows ${text}`),
    ];
  });
  const folder = join(CHART, 'ci');
  const rendered = readdirSync(folder).map((file) => [
    join(RENDERED, `${basename(file, '-values.yaml')}.yaml`),
    render(join(folder, file)),
  ]);
  rendered.push([join(RENDERED, 'digest.txt'), `${chartDigest()}\n`]);
  if (problems.length === 0 && process.argv.includes('--update'))
    for (const [file, text] of rendered) writeFileSync(file, text);
  for (const [file, text] of rendered)
    if (textOf(file) !== text)
      problems.push(
        `${file} differs from the rendered chart: run node scripts/chart.mjs --update and review the difference`,
      );
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
  else console.log(`${rendered.length - 1} sets of values render unchanged, ${refusals.length} are refused`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
