import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const FILES = [
  '.npmrc',
  'CHANGELOG.md',
  'package.json',
  'package-lock.json',
  'scripts/version.mjs',
  'scripts/release.mjs',
  'migrations/index.ts',
  'deploy/helm/registry-server/Chart.yaml',
  'deploy/kubernetes/registry.yaml',
];
const CHANGES = '### Added\n- A feature.\n';
/** A migration that this repository does not have. */
const NEWEST = 'Added9999999999999';

describe('a release', () => {
  let clone = '';
  const textOf = (file: string) => readFileSync(join(clone, file), 'utf8');
  const edit = (file: string, change: (text: string) => string) =>
    writeFileSync(join(clone, file), change(textOf(file)));

  const run = async (program: string, ...args: string[]) => {
    const options = { cwd: clone, env: { PATH: process.env['PATH'], HOME: clone } };
    const done = promisify(execFile)(program, args, options);
    return done.then(
      ({ stdout }) => ({ code: 0, output: stdout }),
      ({ code, stderr }: { code: number; stderr: string }) => ({ code, output: stderr }),
    );
  };
  const npmVersion = (version: string) => run('npm', 'version', version);
  const refusal = async (release: Promise<{ code: number; output: string }>) => {
    const { code, output } = await release;
    expect(code).not.toBe(0);
    return output;
  };
  // Skips the build of `npm run release`.
  const release = (npm = '') => run('env', `npm_execpath=${npm}`, process.execPath, 'scripts/release.mjs');

  const commit = async () => {
    await run('git', 'add', '.');
    const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com'];
    expect((await run('git', ...author, 'commit', '--quiet', '--message', 'Commit')).code).toBe(0);
  };
  const makeClone = async () => {
    clone = mkdtempSync(join(tmpdir(), 'registry-release-'));
    for (const file of FILES) {
      mkdirSync(dirname(join(clone, file)), { recursive: true });
      cpSync(join(ROOT, file), join(clone, file));
    }
    mkdirSync(join(clone, 'dist'));
    writeFileSync(join(clone, 'dist/main.js'), '');
    writeFileSync(join(clone, '.gitignore'), 'dist\nrelease\n.npm\n');
    await run('git', 'init', '--quiet');
    await commit();
    edit('migrations/index.ts', (text) => `import { ${NEWEST} } from './added.js';\n${text}`);
    edit('CHANGELOG.md', (text) =>
      text.replace(/^## \[Unreleased\]\n.*?(?=^## \[)/ms, `## [Unreleased]\n\n${CHANGES}\n`),
    );
  };
  /** Clones before and after `npm version 77.1.0`. */
  const made = { before: '', after: '' };
  let moved: { code: number; output: string };
  beforeAll(async () => {
    await makeClone();
    made.before = clone;
    await makeClone();
    moved = await npmVersion('77.1.0');
    made.after = clone;
  });
  afterAll(() => Object.values(made).forEach((folder) => rmSync(folder, { recursive: true })));
  const use = (which: keyof typeof made) => {
    clone = mkdtempSync(join(tmpdir(), 'registry-release-'));
    cpSync(made[which], clone, { recursive: true });
  };
  afterEach(() => rmSync(clone, { recursive: true, force: true }));

  it('moves version, chart, image tag and changelog by one command, and lists the migrations', async () => {
    use('after');
    expect(moved).toMatchObject({ code: 0, output: expect.stringContaining(NEWEST) as string });
    for (const file of ['package.json', 'package-lock.json'])
      expect(JSON.parse(textOf(file))).toMatchObject({ version: '77.1.0' });
    expect(textOf('deploy/helm/registry-server/Chart.yaml')).toMatch(
      /^version: 77\.1\.0\nappVersion: 77\.1\.0$/m,
    );
    expect(textOf('deploy/kubernetes/registry.yaml')).toMatch(/image: \S+\/registry-server:77\.1\.0@sha256:/);
    const [, unreleased = '', section = ''] = textOf('CHANGELOG.md').split(/^## /m);
    expect(unreleased.trim()).toBe('[Unreleased]');
    expect(section).toMatch(
      /^\[77\.1\.0\] - \d{4}-\d{2}-\d{2}\n\n### Added\n- A feature\.\n\n### Migrations\n/,
    );
    const listed = [...section.matchAll(/^- `(\w+)`$/gm)].map(([, name]) => name);
    expect(listed).toContain(NEWEST);
    expect((await run('git', 'tag')).output).toBe('');

    await commit();
    const npm = (await run('npm', 'exec', '--call', 'printenv npm_execpath')).output.trim();
    const released = await release(npm);
    expect(released).toMatchObject({ code: 0, output: expect.stringContaining(NEWEST) as string });
    expect(readdirSync(join(clone, 'release')).sort()).toEqual([
      'SHA256SUMS',
      'registry-server-77.1.0.cdx.json',
      'registry-server-77.1.0.tgz',
    ]);
    const bill = JSON.parse(readFileSync(join(clone, 'release/registry-server-77.1.0.cdx.json'), 'utf8')) as {
      components: { name: string }[];
    };
    const billed = bill.components.map(({ name }) => name);
    // A dependency, its dependency, and development tools.
    expect(['pg', 'pg-pool', 'typescript', 'vitest'].filter((name) => billed.includes(name))).toEqual([
      'pg',
      'pg-pool',
    ]);

    edit('CHANGELOG.md', (text) => text.replace('## [Unreleased]\n', `## [Unreleased]\n\n${CHANGES}`));
    expect((await npmVersion('77.1.1')).output).toContain('Migrations since the previous release: none');
  });

  it('is refused while changes are under [Unreleased] or a migration is not listed', async () => {
    use('before');
    const output = await refusal(release());
    expect(output).toContain('CHANGELOG.md has changes under [Unreleased]');
    expect(output).toContain(NEWEST);
  });

  it('is refused when its version is tagged', async () => {
    use('after');
    await run('git', 'tag', 'v77.1.0');
    expect(await refusal(release())).toContain('77.1.0 is tagged already');
  });

  it('is refused while files are not committed', async () => {
    use('after');
    await commit();
    writeFileSync(join(clone, 'added.ts'), '');
    edit('package.json', (text) => `${text}\n`);
    expect(await refusal(release())).toBe('These files are not committed:\n M package.json\n?? added.ts\n');
  });

  it.each([
    ['deploy/helm/registry-server/Chart.yaml', 'Chart.yaml: version, Chart.yaml: appVersion'],
    ['deploy/kubernetes/registry.yaml', 'deploy/kubernetes/registry.yaml'],
    ['CHANGELOG.md', 'CHANGELOG.md'],
  ])('is refused when a version differs: %s', async (file, places) => {
    use('after');
    edit(file, (text) => text.replaceAll('77.1.0', '77.0.0'));
    expect(await refusal(release())).toContain(
      `The version in package.json, 77.1.0, differs from: ${places}\n`,
    );
  });

  it('needs a new version, and changes to release', async () => {
    use('before');
    const before = FILES.map(textOf);
    await run('git', 'tag', 'v77.1.0');
    expect(await refusal(npmVersion('77.1.0'))).toContain('77.1.0 is tagged already');
    expect(FILES.map(textOf)).toEqual(before);
    edit('CHANGELOG.md', (text) => text.replace(CHANGES, ''));
    expect(await refusal(npmVersion('77.2.0'))).toContain('no changes under [Unreleased]');
  });
});
