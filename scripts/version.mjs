// Runs as part of `npm version X`, which sets the version in package.json and the lock file. `--check` runs before and
// refuses a version that is tagged or has no changes. Otherwise moves the chart, the image of deploy/kubernetes and the
// changelog to the new version, and adds the migrations since the previous release to the changelog.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import console from 'node:console';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const ROOT = resolve(import.meta.dirname, '..');
export const CHART = 'deploy/helm/registry-server/Chart.yaml';
export const MANIFEST = 'deploy/kubernetes/registry.yaml';
const CHANGELOG = 'CHANGELOG.md';
const IMAGE = /(?<=image: \S*\/registry-server:)[^@\s]+/;

export const textOf = (file) => readFileSync(join(ROOT, file), 'utf8');
/** The version in the image of deploy/kubernetes. */
export const imageVersion = () => IMAGE.exec(textOf(MANIFEST))?.[0];

/** The changes under [Unreleased]; empty if there are none. */
export function unreleasedChanges() {
  const [, changes] = /^## \[Unreleased\]\n(.*?)(?=^## \[)/ms.exec(textOf(CHANGELOG)) ?? [];
  return changes?.trim() ?? '';
}

/** The migrations that no version in the changelog lists, oldest first. */
export function unlistedMigrations() {
  const names = [...textOf('migrations/index.ts').matchAll(/^import \{ (\w+) \}/gm)].map(([, name]) => name);
  const changelog = textOf(CHANGELOG);
  return names.filter((name) => !changelog.includes(`\`${name}\``));
}

/** The migrations that the changelog lists for this version. */
export function migrationsOf(version) {
  const [, section = ''] = textOf(CHANGELOG).split(`\n## [${version}] - `);
  const [, list = ''] = section.split('\n## [')[0].split('\n### Migrations\n');
  return [...list.split('\n### ')[0].matchAll(/`(\w+)`/g)].map(([, name]) => name);
}

export function isTagged(version) {
  const args = ['tag', '--list', version, `v${version}`];
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim() !== '';
}

function check(version) {
  if (isTagged(version)) throw new Error(`${version} is tagged already`);
  if (unreleasedChanges() === '') throw new Error(`${CHANGELOG} has no changes under [Unreleased]`);
}

function move(version) {
  const migrations = unlistedMigrations();
  const list = migrations.map((name) => `- \`${name}\`\n`).join('');
  const changes = `${unreleasedChanges()}\n${list && `\n### Migrations\n${list}`}`;
  const section = `## [Unreleased]\n\n## [${version}] - ${new Date().toISOString().slice(0, 10)}\n\n${changes}\n`;
  const edits = [
    [CHART, (text) => text.replaceAll(/(?<=^(?:version|appVersion): ).+$/gm, version)],
    [MANIFEST, (text) => text.replace(IMAGE, version)],
    [CHANGELOG, (text) => text.replace(/^## \[Unreleased\]\n.*?(?=^## \[)/ms, () => section)],
  ].map(([file, edit]) => [file, edit(textOf(file))]);
  for (const [file, text] of edits) writeFileSync(join(ROOT, file), text);
  console.log(`Migrations since the previous release: ${migrations.join(', ') || 'none'}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const version = process.env['npm_new_version'];
  try {
    if (!version) throw new Error('Run it as npm version X');
    if (process.argv.includes('--check')) check(version);
    else move(version);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
