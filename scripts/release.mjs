// Creates a release in release/: the package, its software bill of materials (CycloneDX) and checksums. Refuses a
// version that `npm version` has not moved everywhere, or that is tagged, and files that are not committed. `npm run release` builds the project first.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import console from 'node:console';
import process from 'node:process';
import {
  CHART,
  imageVersion,
  isTagged,
  MANIFEST,
  migrationsOf,
  textOf,
  unlistedMigrations,
  unreleasedChanges,
} from './version.mjs';

const ROOT = resolve(import.meta.dirname, '..');
const RELEASE = join(ROOT, 'release');

const { name, version } = JSON.parse(textOf('package.json'));
const versions = {
  'package-lock.json': JSON.parse(textOf('package-lock.json')).version,
  'Chart.yaml: version': /^version: (.+)$/m.exec(textOf(CHART))?.[1],
  'Chart.yaml: appVersion': /^appVersion: (.+)$/m.exec(textOf(CHART))?.[1],
  [MANIFEST]: imageVersion(),
  'CHANGELOG.md': /^## \[(\d\S*)\] - /m.exec(textOf('CHANGELOG.md'))?.[1],
};
const differing = Object.keys(versions).filter((place) => versions[place] !== version);
const unlisted = unlistedMigrations();
const uncommitted = execFileSync('git', ['status', '--porcelain'], { cwd: ROOT, encoding: 'utf8' }).trimEnd();
const problems = [
  uncommitted !== '' && `These files are not committed:\n${uncommitted}`,
  differing.length > 0 && `The version in package.json, ${version}, differs from: ${differing.join(', ')}`,
  unreleasedChanges() && 'CHANGELOG.md has changes under [Unreleased]: run npm version to release them',
  isTagged(version) && `${version} is tagged already: run npm version to choose the next one`,
  unlisted.length > 0 && `CHANGELOG.md does not list these migrations: ${unlisted.join(', ')}`,
].filter(Boolean);
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(1);
}

rmSync(RELEASE, { recursive: true, force: true });
mkdirSync(RELEASE);
const npm = (...args) =>
  execFileSync(process.execPath, [process.env.npm_execpath, ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
// The project is already built.
npm('pack', '--ignore-scripts', '--pack-destination', RELEASE);
const bill = JSON.parse(
  npm(
    'sbom',
    '--omit',
    'dev',
    '--sbom-format',
    'cyclonedx',
    '--sbom-type',
    'application',
    '--package-lock-only',
  ),
);
// npm uses the directory's name.
bill.metadata.component.name = name;
writeFileSync(join(RELEASE, `${name}-${version}.cdx.json`), `${JSON.stringify(bill, null, 2)}\n`);

const sums = readdirSync(RELEASE)
  .sort()
  .map(
    (file) =>
      `${createHash('sha256')
        .update(readFileSync(join(RELEASE, file)))
        .digest('hex')}  ${file}\n`,
  );
writeFileSync(join(RELEASE, 'SHA256SUMS'), sums.join(''));

const commit =
  readFileSync(join(ROOT, 'dist/commit.txt'), { encoding: 'utf8', flag: 'a+' }).trim() || 'unknown';
const labels = { VERSION: version, COMMIT: commit, BUILD_DATE: new Date().toISOString() };
const args = Object.entries(labels).map(([key, value]) => `--build-arg ${key}=${value}`);
console.log(`${sums.join('')}Migrations since the previous release: ${migrationsOf(version).join(', ') || 'none'}
The image: docker build --pull ${args.join(' ')} --tag ${name}:${version} .
The tag: git tag v${version}`);
