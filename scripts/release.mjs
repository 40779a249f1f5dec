// Creates a release in release/: the package, its software bill of materials (CycloneDX) and checksums. Fails if
// the version differs from CHANGELOG.md, the lock file or the Helm chart. `npm run release` builds the project first.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import console from 'node:console';
import process from 'node:process';

const ROOT = resolve(import.meta.dirname, '..');
const RELEASE = join(ROOT, 'release');
const textOf = (file) => readFileSync(join(ROOT, file), 'utf8');

const { name, version } = JSON.parse(textOf('package.json'));
const problems = [
  [JSON.parse(textOf('package-lock.json')).version === version, 'package-lock.json'],
  [
    new RegExp(`^version: ${version}$`, 'm').test(textOf('deploy/helm/registry-server/Chart.yaml')),
    'Chart.yaml: version',
  ],
  [
    new RegExp(`^appVersion: ${version}$`, 'm').test(textOf('deploy/helm/registry-server/Chart.yaml')),
    'Chart.yaml: appVersion',
  ],
  [textOf('CHANGELOG.md').includes(`\n## [${version}] - `), 'CHANGELOG.md'],
].flatMap(([right, place]) => (right ? [] : [place]));
if (problems.length > 0) {
  console.error(`The version in package.json, ${version}, differs from: ${problems.join(', ')}`);
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
// Production dependencies only.
const bill = JSON.parse(
  npm(
    'sbom',
    '--sbom-format',
    'cyclonedx',
    '--sbom-type',
    'application',
    '--omit',
    'dev',
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
console.log(`${sums.join('')}The image: docker build --pull ${args.join(' ')} --tag ${name}:${version} .`);
