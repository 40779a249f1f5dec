import type { PackageKind } from './members.responses.js';

/** How the arguments of a program specify packages. */
export interface PackageLauncher {
  readonly kind: PackageKind;
  /** Options that specify a package; the first argument is then a program in that package. */
  readonly packages?: ReadonlySet<string>;
  /** Options that specify an additional package. */
  readonly further?: ReadonlySet<string>;
  /** Options whose value is a file that lists packages. */
  readonly files?: ReadonlySet<string>;
  /** Options whose value is a shell command line. */
  readonly lines?: ReadonlySet<string>;
  /** Options without a value. */
  readonly flags: ReadonlySet<string>;
  /** Options with any other value. */
  readonly values: ReadonlySet<string>;
  /** How many of the arguments are packages. */
  readonly takes?: 'first' | 'all' | 'none';
  /** Prefix of the package name: `npm create x` runs `create-x`. */
  readonly prefix?: string;
}

const set = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/));

const NPM = {
  kind: 'npm',
  flags: set(
    `-y --yes --no -q --quiet -s --silent -d --verbose --no-install --ignore-existing --prefer-online --prefer-offline
     --offline --ignore-scripts --force -g --global --no-audit --no-fund -D --save-dev -E --save-exact --no-save -S --save
     --legacy-peer-deps --shell-mode --bun -b`,
  ),
  values: set(
    `--registry --cache --userconfig --globalconfig --prefix -C -w --workspace --node-options --node-arg --shell
     --script-shell --loglevel --dir --reporter --store-dir --cwd --config --omit --include`,
  ),
} as const;
const NPX: PackageLauncher = { ...NPM, packages: set('-p --package'), lines: set('-c --call') };
const NPM_INSTALL: PackageLauncher = { ...NPM, takes: 'all' };
const NPM_CREATE: PackageLauncher = { ...NPX, prefix: 'create-' };

const PYPI = {
  kind: 'pypi',
  flags: set(
    `-q --quiet -v --verbose -n --no-cache --isolated --offline --refresh --reinstall -U --upgrade --no-index --no-config
     --native-tls --system-certs --managed-python --no-managed-python --no-env-file --frozen --locked --no-sync --no-project
     --active --all-extras --no-dev --dev --all-groups --exact --no-build --no-binary --no-sources --force --system --user
     --pre --force-reinstall --no-deps --no-cache-dir --disable-pip-version-check --no-input --break-system-packages
     --system-site-packages`,
  ),
  values: set(
    `-p --python -i --index-url --index --default-index --extra-index-url -f --find-links --index-strategy --resolution
     --prerelease -c --constraints --constraint --overrides --exclude-newer --link-mode --cache-dir --color --directory
     --project --config-file --env-file --extra --group --only-group
     --pip-args -t --target --root --prefix --trusted-host --proxy`,
  ),
  files: set('-r --requirement --requirements --with-requirements'),
} as const;
const UVX: PackageLauncher = { ...PYPI, packages: set('--from'), further: set('-w --with --with-editable') };
const UV_RUN: PackageLauncher = { ...PYPI, further: UVX.further, takes: 'none' };
const PIPX: PackageLauncher = { ...PYPI, packages: set('--spec'), further: set('--with') };
const PIP_INSTALL: PackageLauncher = { ...PYPI, further: set('-w --with -e --editable'), takes: 'all' };

const CONTAINER: PackageLauncher = {
  kind: 'oci',
  flags: set(
    `-d --detach -i --interactive -t --tty --rm --rmi --init --privileged -P --publish-all --read-only --no-healthcheck
     --oom-kill-disable --sig-proxy --disable-content-trust -q --quiet --use-api-socket --replace --no-hosts --no-hostname
     --env-host --http-proxy --tls-verify --read-only-tmpfs --passwd --help -D --debug --tls --tlsverify --remote -r`,
  ),
  values: set(
    `-a --attach --add-host --address --annotation --arch --authfile --blkio-weight --blkio-weight-device -c --context --config
     --cap-add --cap-drop --cgroup-parent --cgroupns --cgroups --cidfile --connection --cpu-count --cpu-percent --cpu-period
     --cpu-quota --cpu-rt-period --cpu-rt-runtime --cpu-shares --cpus --cpuset-cpus --cpuset-mems --detach-keys --device
     --device-cgroup-rule --device-read-bps --device-read-iops --device-write-bps --device-write-iops --dns --dns-opt
     --dns-option --dns-search --domainname --entrypoint -e --env --env-file --expose --gpus --group-add --health-cmd
     --health-interval --health-retries --health-start-interval --health-start-period --health-timeout -H --host -h
     --hostname --identity --ip --ip6 --ipc --isolation --kernel-memory -l --label --label-file --link --link-local-ip
     --log-driver --log-level --log-opt --mac-address -m --memory --memory-reservation --memory-swap --memory-swappiness
     --mount -n --name --namespace --net --net-alias --network --network-alias --oom-score-adj --os --pid --pids-limit
     --platform --pod -p --publish --pull --restart --root --runroot --runtime --secret --security-opt --shm-size
     --stop-signal --stop-timeout --storage-opt --sysctl --systemd --timeout --tlscacert --tlscert --tlskey --tmpfs --tz
     --ulimit --umask --url -u --user --userns --uts -v --volume --volume-driver --volumes-from -w --workdir`,
  ),
};
const DNX: PackageLauncher = {
  kind: 'nuget',
  flags: set(
    `-y --yes --allow-roll-forward --prerelease --interactive --no-cache --no-http-cache --disable-parallel
     --ignore-failed-sources -g --global --local --allow-downgrade`,
  ),
  values: set(
    '--version --source --add-source --configfile --framework -f -v --verbosity --tool-path -a --arch',
  ),
};

/** Programs by their subcommands. */
export interface Subcommands {
  readonly [word: string]: PackageLauncher | Subcommands;
}

const NPM_COMMANDS: Subcommands = {
  ...verbs('exec exe ex x', NPX),
  ...verbs('install i in ins inst insta instal add it', NPM_INSTALL),
  ...verbs('init create innit', NPM_CREATE),
};
const OTHER_NPM: Subcommands = {
  ...verbs('dlx x', NPX),
  ...verbs('install i add a', NPM_INSTALL),
  ...verbs('create c', NPM_CREATE),
  global: verbs('add', NPM_INSTALL),
};
const CONTAINERS = verbs('run create pull', CONTAINER);
const PIP = verbs('install download wheel', PIP_INSTALL);
const ENGINE: Subcommands = { ...CONTAINERS, container: CONTAINERS, image: verbs('pull', CONTAINER) };

/** Every program that downloads and runs packages. */
export const PROGRAMS: Subcommands = {
  ...verbs('npx pnpx pnx bunx nlx', NPX),
  npm: NPM_COMMANDS,
  ...Object.fromEntries(['pnpm', 'yarn', 'yarnpkg', 'bun'].map((name) => [name, OTHER_NPM])),
  uvx: UVX,
  uv: {
    run: UV_RUN,
    tool: { ...verbs('run', UVX), ...verbs('install', PIP_INSTALL) },
    pip: PIP,
    add: PIP_INSTALL,
  },
  pipx: { run: PIPX, install: PIP_INSTALL },
  pip: PIP,
  ...Object.fromEntries(['docker', 'podman', 'nerdctl'].map((name) => [name, ENGINE])),
  dnx: DNX,
  dotnet: { dnx: DNX, tool: verbs('exec execute install run update', DNX) },
};

function verbs<Of>(words: string, launcher: Of): Readonly<Record<string, Of>> {
  return Object.fromEntries(words.split(' ').map((word) => [word, launcher]));
}

export function isLauncher(node: PackageLauncher | Subcommands): node is PackageLauncher {
  return typeof node['kind'] === 'string';
}

/** Shells, and the options before a command line for them. */
export const SHELLS: Readonly<Record<string, { readonly line: RegExp; readonly isWindows?: true }>> = {
  ...verbs('sh bash zsh dash ksh ash fish busybox', { line: /^[-+][a-z]*c[a-z]*$/i }),
  cmd: { line: /^\/[a-z/]*[ck]/i, isWindows: true },
  ...verbs('powershell pwsh', { line: /^(?:--?|\/)c(?:om?m?a?n?d?)?$/i, isWindows: true }),
};

/** Programs that run the command after their own options. */
export const WRAPPERS: ReadonlySet<string> = set(
  'env timeout gtimeout nohup sudo doas nice ionice setsid stdbuf exec command builtin time xargs parallel cross-env call start',
);

/** Programs whose arguments may be code. */
export const INTERPRETERS = /^(?:node|nodejs|python[\d.]*|ruby|perl|php|deno|bun|tsx|ts-node|osascript|lua)$/;
/** Text that such code would contain to start a package. */
export const MENTION =
  /\b(?:npx|npm|nlx|pnpm|pnpx|pnx|yarn|yarnpkg|bunx?|deno|mise|uvx?|pipx?|docker|podman|nerdctl|dnx|dotnet)\b/i;
