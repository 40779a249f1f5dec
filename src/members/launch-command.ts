import { foldedName } from '../validation/folded-names.js';
import {
  INTERPRETERS,
  isLauncher,
  type PackageLauncher,
  MENTION,
  PROGRAMS,
  SHELLS,
  type Subcommands,
  WRAPPERS,
} from './launchers.js';
import type { MemberPackage } from './members.responses.js';
import { packageOf } from './package-names.js';
import { commandsIn, hasExpansion } from './shell-line.js';

/** What a launch command starts. */
export interface Launch {
  /** The distinct packages that it downloads or runs. */
  readonly packages: MemberPackage[];
  /** False if the command may start something that cannot be determined from its text. */
  readonly isCertain: boolean;
}

/** Longer lines, lines with more words, and more deeply nested lines are not read. */
export const MAX_LINE = 2_000;
const MAX_WORDS = 1_000;
const MAX_DEPTH = 5;
const MAX_PACKAGES = 50;

/**
 * Returns the packages that a program with arguments starts. Finds launchers anywhere in the command, because programs
 * such as `env` and `sudo` run what follows them. When in doubt, reports more than a client would run.
 *
 * @param command a program, or a whole line.
 */
export function launchedPackages(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Launch {
  const reader = new LaunchReader();
  reader.readCommand([command, ...args]);
  // Some clients pass both to a shell.
  if (/\s/.test(command.trim())) reader.readLine([command, ...args].join(' '), false);
  for (const [name, value] of Object.entries(env)) reader.readVariable(name, value);
  if ([command, ...args].some((word) => /\$\(|`/.test(word))) reader.isCertain = false;
  return reader.launch;
}

/**
 * Returns the packages that a line starts.
 *
 * @param isWindows whether the line is for PowerShell or `cmd`.
 */
export function packagesOfLine(line: string, isWindows = false): Launch {
  const reader = new LaunchReader();
  reader.readLine(line, isWindows);
  return reader.launch;
}

class LaunchReader {
  isCertain = true;
  private readonly found = new Map<string, MemberPackage>();
  private words = 0;
  private depth = 0;

  get launch(): Launch {
    return { packages: [...this.found.values()], isCertain: this.isCertain };
  }

  readLine(line: string, isWindows: boolean): void {
    if (this.depth >= MAX_DEPTH || line.length > MAX_LINE || this.words > MAX_WORDS) {
      this.isCertain = false;
      return;
    }
    if (isWindows && COMPUTED.test(line)) this.isCertain = false;
    this.depth += 1;
    const { commands, isCertain } = commandsIn(isWindows ? asPosix(line) : line);
    if (!isCertain) this.isCertain = false;
    for (const words of commands) this.readCommand(words);
    this.depth -= 1;
  }

  readCommand(words: readonly string[]): void {
    this.words += words.length;
    if (this.words > MAX_WORDS || this.found.size > MAX_PACKAGES) {
      this.isCertain = false;
      return;
    }
    const programs = programsAt(words);
    for (const at of programs) {
      const program = programOf(words[at] ?? '');
      if (program === undefined) this.isCertain = false;
      if (programs.length === 1 && (program === 'echo' || program === 'printf')) return;
      if (program === 'eval') this.readLine(words.slice(at + 1).join(' '), false);
      if (program === 'alias' || /^(?:docker|podman)-compose$/.test(program ?? '')) this.isCertain = false;
      if (INTERPRETERS.test(program ?? '') && words.some((word) => /\s|\(/.test(word) && MENTION.test(word)))
        this.isCertain = false;
    }
    for (const [position, word] of words.entries()) {
      const [, variable, value] = /^(\w+)=(.*)$/s.exec(word) ?? [];
      if (variable !== undefined && value !== undefined) this.readVariable(variable, value);
      const name = programOf(word);
      if (name === undefined || word.startsWith('-') || variable !== undefined) continue;
      // The container gets the arguments after the image.
      if (words[position - 1] === '--entrypoint') continue;
      const rest = words.slice(position + 1);
      const shell = Object.hasOwn(SHELLS, name) ? SHELLS[name] : undefined;
      if (shell) this.readShell(name, shell, rest, programs.includes(position));
      else if (name === 'env') this.readSplit(rest);
      else if (Object.hasOwn(PROGRAMS, name)) this.readLauncher(words, position, name);
      if (STARTS_NPM_URLS.has(name)) for (const one of rest) this.readDeno(one);
      // A line for a program such as `su`, `flock` or `concurrently`.
      if (isLaunchLine(word)) this.readLine(word, false);
    }
  }

  /** npm also reads options from environment variables. */
  readVariable(name: string, value: string): void {
    if (/^npm_config_package$/i.test(name) && value.length > MAX_LINE) this.isCertain = false;
    else if (/^npm_config_package$/i.test(name))
      for (const one of value.split(/\s+/)) this.add({ kind: 'npm' }, one);
    if (/^npm_config_call$/i.test(name)) this.readLine(value, false);
  }

  private readShell(
    name: string,
    { line, isWindows = false }: { readonly line: RegExp; readonly isWindows?: boolean },
    rest: readonly string[],
    isProgram: boolean,
  ): void {
    const at = rest.findIndex((word) => line.test(word));
    if (name === 'powershell' || name === 'pwsh') this.readPowerShellOptions(rest, at);
    if (!isWindows) {
      this.readPosixShell(name, line, rest, isProgram);
      return;
    }
    if (at === -1) {
      // Reads the output of another program.
      if (isProgram && rest.every((word) => /^[-/]/.test(word) && word !== '--version'))
        this.isCertain = false;
      this.readLine(rest.join(' '), true);
      return;
    }
    // `cmd /cnpx` needs no space.
    const first = (rest[at] ?? '').replace(/^(?:[-/]c(?:ommand)?|\/[a-z/]*?[ck])/i, '');
    const words = [...(first === '' ? [] : [first]), ...rest.slice(at + 1)];
    this.readCommand(words);
    this.readLine(words.join(' '), true);
  }

  private readPosixShell(name: string, line: RegExp, rest: readonly string[], isProgram: boolean): void {
    const lines = [...rest.keys()].filter((at) => line.test(rest[at] ?? ''));
    for (const at of lines) {
      const behind = rest.slice(at);
      const text = behind.findIndex((word) => !/^[-+]/.test(word));
      // The names of options come before the line: `-co pipefail`.
      if (behind.slice(0, text).some((word) => /^[-+][a-z]*o/i.test(word))) this.isCertain = false;
      if (text !== -1) this.readLine(behind[text] ?? '', false);
    }
    // Supports long options, several lines, and a line attached to its option.
    if (name === 'fish' && rest.some((word) => /^--(?:init-)?c|^-\w*c./is.test(word))) this.isCertain = false;
    if (lines.length > 0 || !isProgram) return;
    // Reads the output of another program.
    let script = 0;
    for (; /^[-+]/.test(rest[script] ?? ''); script += 1) {
      const word = rest[script] ?? '';
      if (word === '--version') return;
      if (/^[-+][a-z]*(?:s|o[a-z]*o)/i.test(word)) this.isCertain = false;
      else if (/^(?:[-+][a-z]*o|--(?:rcfile|init-file)$)/i.test(word)) script += 1;
    }
    if (script >= rest.length || /^\/(?:dev|proc)\//.test(rest[script] ?? '')) this.isCertain = false;
  }

  /**
   * The result is certain only if every argument is clearly an option or a line.
   *
   * @param line position of the option before a line; -1 if there is none.
   */
  private readPowerShellOptions(rest: readonly string[], line: number): void {
    const file = rest.findIndex((word) => /^(?:--?|\/)f(?:i|il|ile)?$/i.test(word));
    const isFlag = (word: string | undefined) => word === undefined || /^[-/]+(?:no\w*|sta|mta)$/i.test(word);
    const isOption = (word = '') => /^[-/]/.test(word);
    const isValueOf = (at: number) => isOption(rest[at - 1]) && !isFlag(rest[at - 1]);
    const end = [line, file].filter((at) => at !== -1 && !isValueOf(at)).sort((a, b) => a - b)[0];
    const options = rest.slice(0, end);
    if (options.some((word) => /^[-/]+(?:e(?:[acn]\w*)?|c\w*)$|^\p{Pd}(?<!-)/iu.test(word)))
      this.isCertain = false;
    if (end !== undefined && rest[end + 1] === '-') this.isCertain = false;
    const hasLine = rest.some((word, at) => !isOption(word) && !isValueOf(at));
    if (end === undefined && !hasLine && !rest.includes('--version')) this.isCertain = false;
  }

  /** `env -S` splits a string into words. */
  private readSplit(rest: readonly string[]): void {
    for (const [at, word] of rest.entries()) {
      const [, text] = /^(?:-[a-z]*S|--split-string=?)(.*)$/s.exec(word) ?? [];
      if (text !== undefined) this.readLine(`${text} ${rest.slice(at + 1).join(' ')}`, false);
    }
  }

  private readLauncher(words: readonly string[], position: number, name: string): void {
    let node: PackageLauncher | Subcommands | undefined = PROGRAMS[name];
    const args: string[] = [];
    let next = position + 1;
    for (; node && !isLauncher(node); next += 1) {
      const word = words[next];
      if (word === undefined) return;
      const verb = word.toLowerCase();
      if (Object.hasOwn(node, verb)) node = node[verb];
      else if (word.startsWith('-') || words[next - 1]?.startsWith('-')) args.push(word);
      else {
        // Compose files and catalogs refer to images.
        if (hasExpansion(word) || ['compose', 'stack', 'mcp'].includes(verb)) this.isCertain = false;
        return;
      }
    }
    if (node) this.readArguments(node, [...args, ...words.slice(next)], words.slice(0, position));
  }

  private readArguments(launcher: PackageLauncher, args: readonly string[], before: readonly string[]): void {
    const { kind, packages, further, files, lines, flags, values, takes = 'first' } = launcher;
    let entrypoint: string | undefined;
    let isNamed = false;
    let isAfterOptions = false;
    for (let at = 0; at < args.length; at += 1) {
      const word = args[at] ?? '';
      const isOption = !isAfterOptions && word.startsWith('-') && word !== '-';
      if (word === '--') isAfterOptions = true;
      else if (isOption) {
        const { option, value } = optionOf(word, launcher);
        const given = value ?? args[at + 1];
        const hasNext = value === undefined;
        if (packages?.has(option) || further?.has(option)) {
          for (const one of given === undefined ? [] : this.listed(launcher, given)) this.add(launcher, one);
          isNamed ||= packages?.has(option) === true;
          at += hasNext ? 1 : 0;
        } else if (lines?.has(option)) {
          this.readLine(given ?? '', false);
          isNamed = true;
          at += hasNext ? 1 : 0;
        } else if (files?.has(option)) {
          this.isCertain = false;
          at += hasNext ? 1 : 0;
        } else if (flags.has(option)) {
          // npm treats them as values.
          if (kind === 'npm' && hasNext && /^(?:true|false|null)$/.test(given ?? '')) this.isCertain = false;
        } else if (values.has(option)) {
          if (option === '--entrypoint') entrypoint = given;
          // npm does not treat an option as a value.
          if (hasNext && !(kind === 'npm' && given?.startsWith('--'))) at += 1;
        } else if (!hasNext) {
          if (mayName(option, launcher)) this.isCertain = false;
          // It may have a value, or be followed by the package.
        } else if (takes !== 'none' && given !== undefined && !given.startsWith('-')) {
          if (kind === 'oci' || mayName(option, launcher)) this.isCertain = false;
          this.add(launcher, given);
          at += 1;
        }
      } else if (takes === 'all') this.add(launcher, word);
      else {
        if (takes === 'first' && !isNamed) this.add(launcher, word);
        if (entrypoint !== undefined) this.readCommand([entrypoint, ...args.slice(at + 1)]);
        return;
      }
    }
    if (takes === 'first' && !isNamed && before.some((word) => /^(?:xargs|parallel)$/.test(word)))
      this.isCertain = false;
  }

  /** `npm:name@version/path` */
  private readDeno(word: string): void {
    const [, name, version] = /^npm:\/?((?:@[^/@]*\/)?[^/@]+)(@[^/]+)?/i.exec(word) ?? [];
    if (name !== undefined) this.add({ kind: 'npm' }, name + (version ?? ''));
  }

  // uv accepts several packages in one value.
  private listed({ kind }: PackageLauncher, value: string): readonly string[] {
    return kind === 'pypi' ? value.split(/,(?![^[]*\])/) : [value];
  }

  private add({ kind, prefix = '' }: Pick<PackageLauncher, 'kind' | 'prefix'>, text: string): void {
    if (text === '') return;
    const found = packageOf(kind, prefix === '' ? text : withPrefix(text, prefix));
    if (found === undefined) this.isCertain = false;
    else if (found) this.found.set(JSON.stringify(found), found);
  }
}

/** Words before a program: keywords, assignments, and the options of a wrapper. */
const KEYWORD = /^(?:if|then|elif|else|while|until|do|!|[{}]|[A-Za-z_]\w*\+?=.*)$/s;
const WRAPPED = /^(?:-.*|[\d.]+[smhd]?|[A-Za-z_]\w*=.*)$/s;

/** Options of wrappers that take no value. */
const WRAPPER_FLAGS: ReadonlySet<string> = new Set([
  '-0',
  '--',
  '--null',
  '--no-run-if-empty',
  '--foreground',
  '--preserve-status',
]);

/**
 * Returns where the program that a command finally runs may be: after the options of a wrapper, some of which may have
 * values.
 */
function programsAt(words: readonly string[]): readonly number[] {
  const found: number[] = [];
  let isWrapped = false;
  for (const [at, word] of words.entries()) {
    const before = words[at - 1] ?? '';
    if (WRAPPERS.has(programOf(word) ?? '')) isWrapped = true;
    else if (!KEYWORD.test(word) && !(isWrapped && WRAPPED.test(word))) {
      found.push(at);
      const isOption = before.startsWith('-') && !before.includes('=') && !WRAPPER_FLAGS.has(before);
      // `start "title" program`
      if (!(isWrapped && (isOption || programOf(before) === 'start'))) break;
    }
  }
  return found;
}

/** Whether an unknown option may be a short form of one that specifies packages. */
function mayName(option: string, { kind, packages, further, files, lines }: PackageLauncher): boolean {
  const naming = [packages, further, files, lines].flatMap((known) => [...(known ?? [])]);
  if (kind === 'oci') return !option.startsWith('--');
  if (naming.length > 0 && !/^--\w/.test(option)) return true;
  return naming.some((known) => known.startsWith(option));
}

/** Returns the name of a program without its path, extension and version, in lower case; undefined if it is unknown. */
function programOf(word: string): string | undefined {
  const base = /[^/\\]*$/.exec(word)?.[0] ?? '';
  if (!/^\[{1,2}$/.test(base) && (hasExpansion(base) || /[{}*?[\]]/.test(base))) return undefined;
  return foldedName(base)
    .replace(/[. ]+$/, '')
    .replace(/\.(?:exe|cmd|bat|com|ps1|[cm]?js)$/, '')
    .replace(/(?<=.)@.*$/, '')
    .replace(/^(npm|npx)-cli$/, '$1')
    .replace(/^pip[\d.]+$/, 'pip');
}

/** Programs that start packages written as `npm:…`. */
const STARTS_NPM_URLS: ReadonlySet<string> = new Set(['deno', 'mise']);

function isLaunchLine(word: string): boolean {
  const [first = '', ...more] = word.trim().split(/\s+/, 2);
  const name = programOf(first) ?? '';
  const isLauncher =
    Object.hasOwn(PROGRAMS, name) ||
    Object.hasOwn(SHELLS, name) ||
    WRAPPERS.has(name) ||
    STARTS_NPM_URLS.has(name);
  return more.length > 0 && isLauncher;
}

/** Separates an option from a value in the same word. */
function optionOf(
  word: string,
  { kind, packages, further, files, flags, values }: PackageLauncher,
): { readonly option: string; readonly value: string | undefined } {
  const equals = word.indexOf('=');
  if (equals > 0 && (word.startsWith('--') || equals === 2 || kind === 'npm'))
    return { option: word.slice(0, equals), value: word.slice(equals + 1) };
  const isWhole = [packages, further, files, flags, values].some((known) => known?.has(word));
  if (isWhole || kind === 'npm' || word.startsWith('--')) return { option: word, value: undefined };
  // Several letters: flags, the last of which may have a value.
  const letters = [...word.slice(1)];
  const at = letters.findIndex((letter) => !flags.has(`-${letter}`));
  if (at === -1) return { option: `-${letters.at(-1)}`, value: undefined };
  const value = letters.slice(at + 1).join('');
  return { option: `-${letters[at]}`, value: value === '' ? undefined : value };
}

/** npm runs `create-name` for `name`, and `@scope/create-name` for `@scope/name`. */
function withPrefix(text: string, prefix: string): string {
  const [, scope = '', name = '', version = ''] = /^(@[^/@]+\/?)?([^@]*)(@.*)?$/s.exec(text) ?? [];
  const path = scope === '' || scope.endsWith('/') ? scope : `${scope}/`;
  return `${path}${name === '' ? prefix.slice(0, -1) : prefix + name}${version}`;
}

/** Expressions that PowerShell or `cmd` evaluates, and other characters that they treat as a dash. */
const COMPUTED =
  /[`()![\]]|(?!-)\p{Pd}|(?<!%[a-z_]\w*)%(?![a-z_]\w*%)|(?<!\S)@\w+(?![\w:/-])|(?:^|[\s;|&{])\.\s+["']?\$|\b(?:iex|icm|saps|ipmo|sal|nal|(?:invoke|start|set|new)-(?:expression|command|item|process|job|alias))\b/iu;

/** Converts a line for `cmd` or PowerShell to one for a POSIX shell, as far as its words matter. */
function asPosix(line: string): string {
  return line.replaceAll('\\', '/').replaceAll('^', '');
}
