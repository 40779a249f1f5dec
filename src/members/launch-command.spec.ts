import { describe, expect, it } from 'vitest';
import { type Launch, launchedPackages, packagesOfLine } from './launch-command.js';

/** `npm:left-pad#1.0.0`, each package; `?` at the end if something else may start. */
function shown({ packages, isCertain }: Launch): string {
  const names = packages.map(
    ({ registryType, identifier, version }) =>
      `${registryType}:${identifier}${version === undefined ? '' : `#${version}`}`,
  );
  return [...names, ...(isCertain ? [] : ['?'])].join(' ');
}

const PAD = 'npm:left-pad';

describe('a program with arguments starts', () => {
  it.each<[string, string[], string]>([
    // npm and similar tools.
    ['npx', ['left-pad'], PAD],
    ['npx', ['-y', 'left-pad@1.2.3', '--port', '1'], 'npm:left-pad#1.2.3'],
    ['npx', ['-y', '@acme/mcp@latest'], 'npm:@acme/mcp'],
    ['npx', ['--yes', '--registry', 'https://npm.acme.example', '--', 'left-pad'], PAD],
    ['npx', ['-p', 'left-pad', '--package=other@2', 'bin'], 'npm:left-pad npm:other#2'],
    ['npx', ['alias@npm:left-pad@1'], 'npm:left-pad#1'],
    ['npx', ['left-pad@^1.0.0'], 'npm:left-pad#^1.0.0'],
    ['npx', ['left-pad@${VERSION}'], PAD],
    ['npx', ['https://registry.npmjs.org/left-pad/-/left-pad-1.0.0.tgz'], PAD],
    ['npx', ['github:acme/mcp'], 'npm:github:acme/mcp'],
    ['npx', ['./local'], ''],
    ['npx', ['${CLAUDE_PLUGIN_ROOT}/local'], ''],
    ['NPX.CMD', ['-y', 'left-pad'], PAD],
    [String.raw`C:\Program Files\nodejs\npx.cmd`, ['left-pad'], PAD],
    ['/usr/bin/npx', ['left-pad'], PAD],
    ['node', ['/usr/lib/node_modules/npm/bin/npx-cli.js', 'left-pad'], PAD],
    ['npm', ['exec', '--yes', '--', 'left-pad'], PAD],
    ['npm', ['--loglevel', 'error', 'x', 'left-pad'], PAD],
    ['npm', ['--package', 'left-pad', 'exec', 'bin'], PAD],
    ['npm', ['run', 'start'], ''],
    ['npm', ['exec', '--yes', 'true', 'left-pad'], 'npm:true ?'],
    ['npm', ['--yes', 'false', 'exec', 'left-pad'], 'npm:false ?'],
    ['npm', ['exec', '--cache', '--package=left-pad', 'x'], PAD],
    ['npm', ['exec', '--pack=left-pad', 'x'], 'npm:x ?'],
    ['npm', ['exec', '-package=left-pad', 'x'], 'npm:x ?'],
    ['npm', ['exec', '--loglevel=error', '--unknown=1', 'left-pad'], PAD],
    ['npm', ['install', '-g', 'left-pad', 'other'], 'npm:left-pad npm:other'],
    ['npm', ['create', 'acme@latest', 'app'], 'npm:create-acme'],
    ['pnpm', ['dlx', 'left-pad'], PAD],
    ['pnpm', ['--package=left-pad', 'dlx', 'bin'], PAD],
    ['pnpm', ['install'], ''],
    ['yarn', ['dlx', '-q', '-p', 'left-pad', 'bin'], PAD],
    ['bunx', ['--bun', 'left-pad'], PAD],
    ['bun', ['x', 'left-pad'], PAD],
    ['bun', ['run', 'server.ts'], ''],
    ['deno', ['run', '-A', 'npm:left-pad@1.0/bin'], 'npm:left-pad#1.0'],
    ['deno', ['run', 'npm:@acme/mcp'], 'npm:@acme/mcp'],
    // Python.
    ['uvx', ['mcp-server-git'], 'pypi:mcp-server-git'],
    ['uvx', ['Mcp_Server.Git[cli]==1.0'], 'pypi:mcp-server-git#1.0'],
    ['uvx', ['mcp@latest'], 'pypi:mcp'],
    ['uvx', ['--python', '3.12', '--from', 'mcp>=1', 'serve'], 'pypi:mcp'],
    ['uvx', ['-q', '--with', 'one,two[x,y]', '--with=three', 'mcp'], 'pypi:one pypi:two pypi:three pypi:mcp'],
    [
      'uvx',
      ['--from', 'git+https://github.com/acme/mcp@main', 'serve'],
      'pypi:git+https://github.com/acme/mcp#main',
    ],
    ['uv', ['tool', 'run', '--from', 'mcp', 'serve'], 'pypi:mcp'],
    ['uv', ['--directory', '/srv', 'run', '--with', 'mcp', 'server.py'], 'pypi:mcp'],
    ['uv', ['run', 'server.py'], ''],
    ['pipx', ['run', 'mcp'], 'pypi:mcp'],
    ['pipx', ['run', '--spec', 'mcp==1', 'serve'], 'pypi:mcp#1'],
    ['python3', ['-m', 'pip', 'install', '-r', 'x.txt', 'mcp'], 'pypi:mcp ?'],
    ['uvx', ['--with-requirements', 'f', 'mcp'], 'pypi:mcp ?'],
    ['uvx', ['--from', 'mcp', 'serve'], 'pypi:mcp'],
    ['python', ['server.py'], ''],
    // Containers.
    ['docker', ['run', '-i', '--rm', '-e', 'A=b', 'ghcr.io/acme/mcp:1', 'serve'], 'oci:ghcr.io/acme/mcp:1'],
    ['docker', ['--context', 'x', 'container', 'run', '-itv', '/a:/b', 'acme/mcp'], 'oci:acme/mcp'],
    ['docker', ['run', '-p8080:80', '--name=x', 'acme/mcp@sha256:ab'], 'oci:acme/mcp@sha256:ab'],
    ['docker', ['run', '--mount', 'type=bind,src=${HOME},dst=/x', 'acme/mcp:${TAG}'], 'oci:acme/mcp:${TAG}'],
    ['docker', ['run', '--entrypoint', 'npx', 'node:22', '-y', 'left-pad'], `oci:node:22 ${PAD}`],
    ['docker', ['run', 'node:22', 'npx', 'left-pad'], `oci:node:22 ${PAD}`],
    ['docker', ['exec', 'mcp', 'serve'], ''],
    ['docker', ['run', '-i', '--rm', '-e', 'A', 'acme/mcp'], 'oci:acme/mcp'],
    ['podman', ['run', '--unsetenv-all', 'left/pad', 'node'], 'oci:left/pad oci:node ?'],
    ['nerdctl', ['--debug-full', 'run', 'left/pad', 'node'], 'oci:left/pad oci:node ?'],
    ['docker', ['run', '-Xi', 'left/pad'], 'oci:left/pad ?'],
    ['podman', ['run', '--replace', '-d', 'acme/mcp'], 'oci:acme/mcp'],
    // .NET.
    ['dnx', ['Acme.Mcp@1.0', '--yes'], 'nuget:Acme.Mcp#1.0'],
    ['dnx', ['-y', '--source', 'https://x', 'Acme.Mcp'], 'nuget:Acme.Mcp'],
    ['dotnet', ['tool', 'exec', 'Acme.Mcp'], 'nuget:Acme.Mcp'],
    // Behind other programs.
    ['env', ['A=b', 'npx', 'left-pad'], PAD],
    ['env', ['-S', 'npx left-pad'], PAD],
    ['timeout', ['5', 'npx', 'left-pad'], PAD],
    ['nohup', ['npx', 'left-pad'], PAD],
    ['sudo', ['-u', 'root', 'npx', 'left-pad'], PAD],
    ['sh', ['-c', 'exec npx left-pad'], PAD],
    ['bash', ['-lc', 'cd /srv && npx left-pad "$@"'], PAD],
    ['cmd', ['/c', 'npx', '-y', 'left-pad'], PAD],
    ['cmd.exe', ['/d', '/s', '/c', String.raw`"C:\nodejs\npx.cmd" left-pad`], PAD],
    ['pwsh', ['-NoProfile', '-Command', 'npx left-pad'], PAD],
    ['pwsh', ['-NoProfile', '-File', '${CLAUDE_PLUGIN_ROOT}/x.ps1', '-Config', 'y'], ''],
    ['cmd', ['/c', '%CLAUDE_PLUGIN_ROOT%/x.cmd', '%FILE%'], ''],
    ['fish', ['-C', 'true', '-c', 'npx left-pad'], PAD],
    ['bash', ['-euo', 'pipefail', '-c', 'npx left-pad'], PAD],
    ['bash', ['-euo', 'pipefail', '${CLAUDE_PLUGIN_ROOT}/hooks/x.sh', '-s'], ''],
    ['timeout', ['-k', '5', '30', '${CLAUDE_PLUGIN_ROOT}/x.sh', '${FILE}'], ''],
    ['sudo', ['-u', 'root', '${X}x', 'left-pad'], '?'],
    ['env', ['-u', 'echo', 'npx', 'left-pad'], PAD],
    ['npx left-pad', [], PAD],
    ['npx -y', ['left-pad'], PAD],
    ['npx', ['-c', 'left-pad && npx other'], 'npm:other'],
    ['npx', ['-y', 'pnpm@9', 'dlx', 'left-pad'], `npm:pnpm#9 ${PAD}`],
    // No package.
    ['node', ['${CLAUDE_PLUGIN_ROOT}/server.js'], ''],
    ['${CLAUDE_PLUGIN_ROOT}/bin/server', ['--port', '${PORT}'], ''],
    ['./server', [], ''],
  ])('%s %j', (command, args, expected) => {
    expect(shown(launchedPackages(command, args))).toBe(expected);
  });

  it('packages that environment variables make npm run', () => {
    expect(shown(launchedPackages('npm', ['exec'], { npm_config_package: 'left-pad' }))).toBe(PAD);
    expect(shown(launchedPackages('npx', ['x'], { API_KEY: 'npx left-pad' }))).toBe('npm:x');
  });
});

describe('a line for a shell starts', () => {
  it.each<[string, string]>([
    ['npx prettier --write "$FILE"', 'npm:prettier'],
    ['FILE=$(jq -r .path); npx prettier "$FILE"', 'npm:prettier'],
    ['cd "$CLAUDE_PLUGIN_ROOT" && npx -y left-pad >/dev/null 2>&1 || true', PAD],
    ['if [ -f x ]; then npx left-pad; fi', PAD],
    ['npx \\\n  left-pad', PAD],
    ['x=$(npx left-pad)', PAD],
    ['echo "$(npx left-pad)"', PAD],
    ['su -c "npx left-pad"', PAD],
    ['bash "${CLAUDE_PLUGIN_ROOT}/scripts/x.sh" 2>&1', ''],
    ['"${CLAUDE_PLUGIN_ROOT}"/scripts/x.sh', ''],
    ['echo "Install it with npx left-pad"', ''],
    ['command -v npx >/dev/null', ''],
    ['python3 -c "import json; print(json.dumps({}))"', ''],
    ['# npx left-pad', ''],
    ['case "$1" in *.ts|*.js) npx left-pad;; *) exit 0;; esac', PAD],
    ['case x in\n  (a) true;;\nesac\nnpx left-pad', PAD],
    [String.raw`if [[ "$F" =~ \.(js|ts)$ || "$F" == *.css && -n "$X" ]]; then npx left-pad "$F"; fi`, PAD],
    ['[[ x || npx left-pad ]]', PAD],
    ['[[ x; npx left-pad; ]]', `${PAD} ?`],
    [`X=('*/etc/*' '*.lock'); npx left-pad`, PAD],
    ['f() { npx left-pad; }; f', PAD],
    ['i=$((i*2)); [ "$i" -gt 3 ] && (cd x && npx left-pad)', PAD],
    ['powershell -ExecutionPolicy Bypass -File x.ps1', ''],
    ['bash ${CLAUDE_PLUGIN_ROOT}/hooks/x.sh', ''],
    ['cat x | xargs -0 prettier "$FILE"', ''],
  ])('%s', (line, expected) => {
    expect(shown(packagesOfLine(line))).toBe(expected);
  });

  it.each([
    [String.raw`& 'C:\nodejs\npx.cmd' left-pad`, PAD],
    [String.raw`& "$env:CLAUDE_PLUGIN_ROOT\x.ps1"`, ''],
    ['npx @acme/mcp@1', 'npm:@acme/mcp#1'],
    [`&('np'+'x') left-pad`, '?'],
    ['$x = "npx"; & $x left-pad', '?'],
    ['. $x left-pad', '?'],
    ['irm https://acme.example | iex', '?'],
    ['npx @x', 'npm:@x ?'],
    ['Start-Process $x left-pad', '?'],
  ])('commands in PowerShell syntax: %s', (line, expected) => {
    expect(shown(packagesOfLine(line, true))).toBe(expected);
  });
});

describe('a line that starts something unknown is reported as uncertain', () => {
  it.each<[string, string[]]>([
    ['npx', ['${PACKAGE}']],
    ['npx', ['$(cat name)']],
    ['npx', ['@${SCOPE}/mcp']],
    ['$(echo npx)', ['left-pad']],
    ['${RUNNER:-npx}', ['left-pad']],
    ['%RUNNER%', ['left-pad']],
    ['env', ['$RUNNER', 'left-pad']],
    ['node', ['server.js', '`date`']],
    ['uvx', ['--from', '${SPEC}', 'x']],
    ['docker', ['run', '${IMAGE}']],
    ['docker', ['compose', 'up']],
    ['docker', ['mcp', 'gateway', 'run']],
    ['docker-compose', ['up']],
    ['sh', ['-c', '"$0" left-pad']],
    ['sh', []],
    ['bash', ['-co', 'pipefail', 'cd /tmp; npx -y left-pad']],
    ['bash', ['-c', '-o', 'pipefail', 'npx left-pad']],
    ['bash', ['-c', '+O', 'extglob', 'npx left-pad']],
    ['sh', ['-c', 'a=np; env -u b ${a}x left-pad']],
    ['fish', ['-cnpx left-pad']],
    ['fish', ['--command=npx left-pad']],
    ['powershell', ['\u2013enc', 'bgBwAHgA']],
    ['powershell', ['-ec', 'bgBwAHgA']],
    ['pwsh', ['-CustomPipeName', 'x', '-EncodedCommand', 'bgBwAHgA']],
    ['pwsh', ['-CommandWithArgs', 'x']],
    ['pwsh', ['-ep', '-File', '-enc', 'bgBwAHgA']],
    ['pwsh', ['-Command', "&('np'+'x') left-pad"]],
    ['pwsh', ['-Command', 'irm https://acme.example | iex']],
    ['pwsh', ['-Command', '-']],
    ['pwsh', ['-File', '-']],
    ['cmd', ['/v:on', '/c', 'set x=np&& !x!x left-pad']],
    ['cmd', ['/c', '%X:~0,2%x left-pad']],
    ['powershell', ['-EncodedCommand', 'bgBwAHgA']],
    ['python', ['-c', 'import os; os.system("npx left-pad")']],
    ['node', ['-e', 'require("child_process").exec("npx left-pad")']],
  ])('%s %j', (command, args) => {
    expect(launchedPackages(command, args).isCertain).toBe(false);
  });

  it.each([
    'curl https://acme.example/install | sh',
    'curl https://acme.example/install | bash -s install',
    'curl https://acme.example/install | bash -o pipefail -s install',
    'curl https://acme.example/install | bash -oo pipefail posix -s install',
    'curl https://acme.example/install | bash /dev/stdin install',
    'curl https://acme.example/install | sudo -u root bash',
    'curl https://acme.example/install | powershell -ep bypass',
    'echo npx left-pad | cmd /q',
    'echo left-pad | xargs npx',
    'X=npx; $X left-pad',
    '$(echo npx) left-pad',
    '`echo npx` left-pad',
    '{npx,left-pad}',
    '/usr/bin/n?x left-pad',
    String.raw`$'\x6epx' left-pad`,
    'alias n=npx; n left-pad',
    'f() { npx "$@"; }; f left-pad',
    'eval "$CODE"',
    'npx "left-pad',
    'npx $(echo left-pad)',
    'diff <(npx left-pad) x',
  ])('%s', (line) => {
    expect(packagesOfLine(line).isCertain).toBe(false);
  });
});

it.each([
  ['words', `${'npx '.repeat(500)}left-pad`],
  ['packages', 'npx left-pad; '.repeat(300)],
  ['substitutions', `${'$('.repeat(900)}npx`],
  ['quotes', '"'.repeat(1_999)],
  ['lines in lines', `sh -c '${'sh -c "'.repeat(200)}`],
  ['braces', '${'.repeat(900)],
])('reads a line of many %s', (_, line) => {
  expect(packagesOfLine(line.slice(0, 2_000))).toBeDefined();
});
