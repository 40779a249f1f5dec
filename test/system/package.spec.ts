import { execFile } from 'node:child_process';
import type { Dirent } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.js';
import { aDatabase } from '../support/database.js';

const CONFIGURATION = `auth: { mode: anonymous }
sources: [{ name: ours, managed: {} }]
registries: [{ name: main, sources: [ours] }]
`;
const ROOT = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

interface Manifest {
  readonly version: string;
  readonly bin: Record<string, string>;
  readonly dependencies: Record<string, string>;
}

describe('the packed package, installed in an empty directory', () => {
  let folder = '';
  let installed = '';
  let program = '';
  let manifest: Manifest;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'registry-package-'));
    // The build exists already, and other tests are running on it.
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT });
    const [tarball = ''] = await readdir(folder);
    await run('tar', ['-xzf', tarball], { cwd: folder });
    installed = join(folder, 'package');
    manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as Manifest;
    program = join(installed, manifest.bin['registry-server'] ?? '');
    // npm does this for every file in `bin`.
    await chmod(program, 0o755);
    // Links the declared dependencies only: no development dependencies, no undeclared ones.
    for (const name of Object.keys(manifest.dependencies)) {
      const link = join(folder, 'node_modules', name);
      await mkdir(dirname(link), { recursive: true });
      await symlink(join(ROOT, 'node_modules', name), link, 'junction');
    }
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const registryServer = (args: string[], environment: Record<string, string> = {}) =>
    run(program, args, {
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '', ...environment },
    });

  it('contains the program, license and README, but no tests or development tools', async () => {
    expect((await readdir(installed)).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json']);
    const all = await readdir(join(installed, 'dist'), { recursive: true, withFileTypes: true });
    const isPage = ({ parentPath }: Dirent) => `${parentPath}/`.startsWith(join(installed, 'dist', 'web/'));
    const page = all.filter((entry) => entry.isFile() && isPage(entry)).map(({ name }) => name);
    expect(page).toContain('index.html');
    expect(page.filter((name) => !/^(index\.html|[\w-]+-[\w-]{8}\.(js|css|svg))$/.test(name))).toEqual([]);
    const built = all.filter((entry) => !isPage(entry)).filter((entry) => entry.isFile());
    const others = built.map(({ name }) => name).filter((name) => !/^[\w.-]+\.(js|json)$/.test(name));
    expect(others.filter((name) => name !== 'commit.txt')).toEqual([]);
    const shipped = await readdir(join(installed, 'dist'));
    expect(shipped.filter((name) => ['bench', 'demo'].includes(name))).toEqual([]);
  });

  it('serves the API, its documentation, the OpenAPI document and the web UI', async () => {
    const { host, port, user, database, drop } = await aDatabase();
    const file = join(folder, 'serve.yaml');
    await writeFile(file, `${CONFIGURATION}database: ${JSON.stringify({ host, port, user, database })}\n`);
    const server = Cli.serve(file, {}, program);
    const origin = await server.origin();
    const html = { Accept: 'text/html' };
    const paths = ['/', '/registry/main/v0.1/servers', '/docs', '/docs/swagger-ui.css', '/openapi.json'];
    const statuses = paths.map(async (path) => [
      path,
      (await fetch(origin + path, { headers: html })).status,
    ]);
    expect((await Promise.all(statuses)).filter(([, status]) => status !== 200)).toEqual([]);
    server.child.kill('SIGTERM');
    expect(await server.finished).toMatchObject({ code: 0 });
    await drop();
  });

  it('prints its version and the commit it was built from, or the one from the environment', async () => {
    const built = await registryServer(['--version']);
    expect(built.stdout).toMatch(/^\S+ \(commit ([0-9a-f]{40}(-dirty)?|unknown)\)\n$/);
    expect(built.stdout.split(' ')[0]).toBe(manifest.version);
    const { stdout } = await registryServer(['--version'], { REGISTRY_COMMIT: 'abc' });
    expect(stdout).toBe(`${manifest.version} (commit abc)\n`);
  });

  it('checks a configuration', async () => {
    const file = join(folder, 'registry.yaml');
    await writeFile(file, CONFIGURATION);
    const { stdout, stderr } = await registryServer(['check', '--config', file]);
    expect(stdout).toContain('is valid: anonymous mode, sources: 1');
    expect(stderr).toBe('');
  });
});
