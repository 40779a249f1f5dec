/* global fetch */
// Builds the image where no image registry is reachable, then runs it with the sample: as user 1000 and as any other,
// with a read-only root file system and without capabilities, with its health check, until SIGTERM. The two base images
// in the Dockerfile are built from Debian's packages and npm's package of the Node.js binary. Prints sizes and times.
// `buildah run` offers neither a read-only root nor a process 1, so podman runs it. Needs root, and Debian's buildah,
// debootstrap, podman, runc and PostgreSQL.
import { execFile } from 'node:child_process';
import console from 'node:console';
import { access, cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { BINARIES, freePort, inFolder, Postgres, readArguments, ROOT, until } from './programs.mjs';

const USAGE = `node scripts/operations/image.mjs [--binaries ${BINARIES}]`;
const { values } = readArguments(USAGE, { options: { binaries: { type: 'string', default: BINARIES } } });
const BASE = 'docker.io/library/debian:bookworm-slim';
const NODE = 'docker.io/library/node:24-bookworm-slim';
const IMAGE = 'localhost/registry-server:checked';
/** Node.js, Git and the dependencies, which are installed unbundled, take 325 MB. */
const MAX_MEGABYTES = 420;
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

/** Resolves with the output; rejects if the program fails. */
async function run(program, ...args) {
  const { stdout } = await promisify(execFile)(program, args, { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 });
  return stdout.trim();
}

let isGood = true;
function report(isRight, what) {
  isGood &&= isRight;
  console.log(`${isRight ? 'ok   ' : 'WRONG'}  ${what}`);
}

async function timed(what, work) {
  const began = Date.now();
  const result = await work();
  console.log(`${`${((Date.now() - began) / 1_000).toFixed(1)} s`.padStart(8)}  ${what}`);
  return result;
}

/** Paths that Debian's slim images leave out. */
const LEFT_OUT = ['doc', 'info', 'lintian', 'linda', 'locale', 'man'].map((name) => `/usr/share/${name}/*`);
/** Does not keep installed packages, like Debian's images. */
const KEEP_NO_PACKAGES = `DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true"; };
Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";
Acquire::Languages "none"; Apt::AutoRemove::SuggestsImportant "false";
`;

/** The content of Debian's slim image. */
async function makeDebian(folder) {
  const root = join(folder, 'debian');
  await run('debootstrap', '--variant=minbase', 'bookworm', root);
  const excluded = LEFT_OUT.map((path) => `path-exclude ${path}\n`).join('');
  await writeFile(
    join(root, 'etc/dpkg/dpkg.cfg.d/slim'),
    `${excluded}path-include /usr/share/doc/*/copyright\n`,
  );
  await writeFile(join(root, 'etc/apt/apt.conf.d/slim'), KEEP_NO_PACKAGES);
  const usr = ['info', 'locale', 'man'].map((name) => `usr/share/${name}`);
  for (const path of [...usr, 'var/cache/apt', 'var/lib/apt/lists', 'var/log'])
    await emptyFolder(join(root, path));
  await run('find', join(root, 'usr/share/doc'), '-type', 'f', '!', '-name', 'copyright', '-delete');
  return root;
}

/** What the image of Node.js adds below /usr/local, as far as a build needs it. */
async function makeLocal(folder) {
  const packages = join(folder, 'packages');
  const binary = `node-linux-${process.arch}`;
  await run('npm', 'install', '--prefix', packages, '--ignore-scripts', `${binary}@24`, 'npm@11');
  const local = join(folder, 'local');
  await mkdir(join(local, 'lib/node_modules'), { recursive: true });
  await cp(join(packages, 'node_modules', binary, 'bin'), join(local, 'bin'), { recursive: true });
  await cp(join(packages, 'node_modules/npm'), join(local, 'lib/node_modules/npm'), { recursive: true });
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'));
  return local;
}

async function emptyFolder(folder) {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
}

/** This machine's npm settings and certificates, which the base lacks. */
async function npmSettings(folder) {
  const file = join(folder, 'npmrc');
  const own = await readFile(await run('npm', 'config', 'get', 'userconfig'), 'utf8').catch(() => '');
  await writeFile(file, `${own}\ncafile=/run/certificates.crt\n`);
  return ['--volume', `${file}:/root/.npmrc:ro`, '--volume', `${CERTIFICATES}:/run/certificates.crt:ro`];
}

/** The sample of Compose, with another address of the database. */
async function writeSample(folder, port) {
  const config = parse(await readFile(join(ROOT, 'examples/docker.yaml'), 'utf8'));
  config.database = { host: '127.0.0.1', port, user: 'registry', database: 'postgres' };
  const file = join(folder, 'registry.yaml');
  await writeFile(file, JSON.stringify(config));
  const mounted = (from, name) => ['--volume', `${from}:/etc/registry/${name}:ro`];
  const catalogs = ['catalog.json', 'second-team.json'];
  return [
    ...mounted(file, 'registry.yaml'),
    ...catalogs.flatMap((name) => mounted(join(ROOT, 'examples', name), name)),
  ];
}

await inFolder(async (folder, atEnd) => {
  const storage = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'state')];
  const buildah = (...args) => run('buildah', ...storage, ...args);
  // runc and cgroupfs also work without systemd.
  const runtime = ['--runtime', '/usr/sbin/runc', '--cgroup-manager', 'cgroupfs', ...storage];
  const podman = (...args) => run('podman', ...runtime, ...args);
  const succeeds = (...args) =>
    podman(...args).then(
      () => true,
      () => false,
    );
  await access('/usr/sbin/runc');
  atEnd(() => podman('rm', '--all', '--force'));
  atEnd(() => buildah('rm', '--all'));

  const commit = async (image, from, content, path) => {
    const container = await buildah('from', '--pull=never', from);
    await buildah('add', container, content, path);
    await buildah('commit', '--rm', container, image);
  };
  const debian = await timed('Debian: debootstrap', () => makeDebian(folder));
  const local = await timed('Node.js and npm', () => makeLocal(folder));
  await timed('both as images', async () => {
    await commit(BASE, 'scratch', debian, '/');
    await commit(NODE, BASE, local, '/usr/local');
  });
  await timed('Dockerfile', async () => {
    const how = ['--isolation', 'chroot', '--network', 'host', '--pull=never', '--format', 'docker'];
    await buildah('bud', ...how, ...(await npmSettings(folder)), '--tag', IMAGE, ROOT);
  });
  const sizes = await Promise.all(
    [BASE, IMAGE].map(async (name) =>
      Number(await podman('image', 'inspect', '--format', '{{.Size}}', name)),
    ),
  );
  const megabytes = sizes.map((size) => Math.round(size / 1e6));
  const above = `${megabytes[1] - megabytes[0]} MB of it above Debian`;
  report(megabytes[1] <= MAX_MEGABYTES, `${megabytes[1]} MB, ${above}; at most ${MAX_MEGABYTES} MB`);

  const postgres = await Postgres.start(values.binaries, folder);
  atEnd(() => postgres.stop());
  const sample = await writeSample(folder, postgres.port);
  const [port, internal] = [await freePort(), await freePort()];
  const addresses = ['--address', `127.0.0.1:${port}`, '--internal-address', `127.0.0.1:${internal}`];
  const limits = ['--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=1024:1024'];
  const strict = ['--read-only', '--read-only-tmpfs=false', '--cap-drop', 'ALL', ...limits];
  const options = ['--network', 'host', ...strict, '--security-opt', 'no-new-privileges', ...sample];
  const health = ['--health-interval', 'disable'];

  for (const [name, ...user] of [['as-1000'], ['as-any', '--user', '1000660000:0']]) {
    const tmp = ['--tmpfs', '/tmp:mode=1777'];
    const command = ['serve', '--config', '/etc/registry/registry.yaml', ...addresses];
    await podman(
      'run',
      '--detach',
      '--name',
      name,
      ...user,
      ...options,
      ...tmp,
      ...health,
      IMAGE,
      ...command,
    );
    const get = (path, at = port) => fetch(`http://127.0.0.1:${at}${path}`);
    const tookMs = await until('ready', async () => (await get('/readiness', internal)).ok);
    report(true, `${name}: ready after ${tookMs} ms`);
    const { servers } = await (await get('/registry/default/v0.1/servers')).json();
    report(servers?.length > 0, `${name}: ${servers?.length} servers of the sample`);
    report(await succeeds('healthcheck', 'run', name), `${name}: health check`);
    const isUser = (await podman('exec', name, 'id', '-u')) === (user[1]?.split(':')[0] ?? '1000');
    report(isUser, `${name}: user`);
    for (const file of ['/app/file', '/var/tmp/file', '/etc/registry/file'])
      report(!(await succeeds('exec', name, 'touch', file)), `${name}: cannot write ${file}`);
    report(await succeeds('exec', name, 'touch', '/tmp/file'), `${name}: can write /tmp`);
    report(await succeeds('exec', name, 'git', '--version'), `${name}: git`);
    const ssh = await podman('exec', name, 'sh', '-c', 'ssh -o BatchMode=yes -p 1 127.0.0.1 2>&1 || true');
    report(/refused/.test(ssh), `${name}: ssh (${ssh.split('\n').at(-1)})`);
    const began = Date.now();
    await podman('stop', '--time', '30', name);
    const code = await podman('inspect', '--format', '{{.State.ExitCode}}', name);
    report(code === '0', `${name}: stopped by SIGTERM after ${Date.now() - began} ms with exit code ${code}`);
  }
  const alone = ['--rm', ...options, ...health, '--entrypoint', 'node', IMAGE, 'health-check.mjs'];
  report(!(await succeeds('run', ...alone)), 'the health check fails without a server');
});
process.exitCode = isGood ? 0 : 1;
