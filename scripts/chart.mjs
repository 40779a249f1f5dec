// Lints the Helm chart, renders it with each of its `ci/*-values.yaml`, and compares the output with
// test/conventions/chart; `--update` overwrites those files. Uses `helm`, or the program named by HELM. The tests
// read the rendered files and compare the stored digest with the chart's, so they do not need helm.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import console from 'node:console';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const ROOT = resolve(import.meta.dirname, '..');
const CHART = join(ROOT, 'deploy/helm/registry-server');
const RENDERED = join(ROOT, 'test/conventions/chart');
const HELM = process.env['HELM'] || 'helm';

/** Digest of the chart's files, ignoring the version, which changes with every release. */
export function chartDigest() {
  const hash = createHash('sha256');
  const files = readdirSync(CHART, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.(ya?ml|tpl)$/.test(file),
  );
  for (const file of files.sort()) hash.update(file).update(withoutVersion(textOf(join(CHART, file))));
  return hash.digest('hex');
}

function withoutVersion(text) {
  const [, version] = /^version: (.+)$/m.exec(textOf(join(CHART, 'Chart.yaml'))) ?? [];
  return text.replaceAll(version, 'VERSION');
}

function textOf(file) {
  return readFileSync(file, 'utf8');
}

function render(values) {
  const flags = ['--kube-version', '1.34', '--values', values];
  execFileSync(HELM, ['lint', '--strict', ...flags, CHART], { stdio: ['ignore', 'ignore', 'inherit'] });
  const args = ['template', 'registry', CHART, '--namespace', 'mcp', ...flags];
  return withoutVersion(execFileSync(HELM, args, { encoding: 'utf8' }));
}

function main() {
  const update = process.argv.includes('--update');
  const folder = join(CHART, 'ci');
  const rendered = readdirSync(folder).map((file) => [
    join(RENDERED, `${basename(file, '-values.yaml')}.yaml`),
    render(join(folder, file)),
  ]);
  rendered.push([join(RENDERED, 'digest.txt'), `${chartDigest()}\n`]);
  for (const [file, text] of rendered) {
    if (update) writeFileSync(file, text);
    else if (textOf(file) !== text) {
      console.error(
        `${file} differs from the rendered chart: run node scripts/chart.mjs --update and review the difference`,
      );
      process.exitCode = 1;
    }
  }
  if (!process.exitCode) console.log(`${rendered.length - 1} sets of values render unchanged`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
