import { isUtf8 } from 'node:buffer';
import { isDeeperThan, repeatedKey } from '../json/json-text.js';
import { elements, isObject, member } from '../json/json-values.js';
import { pauseIfDue } from '../limits/time-slice.js';
import { foldedName } from '../validation/folded-names.js';
import { toStorable } from '../validation/storable-text.js';
import { frontmatterOf, hidesKeys, keysOf } from './frontmatter.js';
import { type Launch, launchedPackages, MAX_LINE, packagesOfLine } from './launch-command.js';
import type { MemberHook, MemberLspServer, Members, MemberServer, MemberSkill } from './members.responses.js';
import { hasExpansion, quoted } from './shell-line.js';

/** A file whose members are read. */
export interface MemberFile {
  readonly path: string;
  readonly bytes: number;
}

/** Paths where clients look for a manifest, in lower case. */
export const MANIFESTS = [
  '.claude-plugin/plugin.json',
  '.codex-plugin/plugin.json',
  '.cursor-plugin/plugin.json',
  '.github/plugin/plugin.json',
  '.plugin/plugin.json',
  'plugin.json',
];

/** The components of a manifest, and where clients look for them without one. */
const FILES = {
  mcpServers: ['.mcp.json', 'mcp.json', '.github/mcp.json'],
  hooks: ['hooks.json', 'hooks/hooks.json'],
  lspServers: ['.lsp.json', 'lsp.json', '.github/lsp.json'],
  monitors: ['monitors/monitors.json'],
  // Claude Code also reads a command from a plugin's settings.
  settings: ['settings.json'],
} as const;
const FOLDERS = { skills: ['skills'], commands: ['commands'], agents: ['agents'] } as const;
type Component = keyof typeof FILES | keyof typeof FOLDERS;

const MAX_JSON_BYTES = 256 * 1024;
const MAX_DEPTH = 64;
const MAX_TEXT_BYTES = 1024 * 1024;
/** How many characters of a file are searched for its frontmatter. */
const MAX_FRONTMATTER = 16 * 1024;
/** Maximum frontmatter that is parsed: see MAX_PARSED. */
const MAX_PARSED_FILES = 50;
const MAX_MEMBERS_PER_FILE = 1_000;
/** Maximum characters of all members as JSON. */
const MAX_LENGTH = 256 * 1024;
/** Maximum characters of all servers as configured. */
const MAX_SERVERS_LENGTH = 1024 * 1024;
const MAX_NAME = 200;
const MAX_COMMAND = MAX_LINE;
const MAX_PATH = 4_096;
const MAX_DESCRIPTION = 1_024;

/**
 * Returns the members that clients find in the files of a skill or plugin, in every place where any client looks
 * (reference/members). Files that exist but cannot be read reliably are `unreadable`. The result depends only on the
 * files.
 *
 * @param read returns the bytes of a file; called only for files that are needed.
 */
export async function readMembers<File extends MemberFile>(
  files: readonly File[],
  read: (file: File) => Promise<Buffer>,
): Promise<ReadMembers> {
  const reader = new MembersReader(files, read);
  await reader.read();
  return { members: reader.members(), servers: reader.servers };
}

export interface ReadMembers {
  readonly members: Members;
  /** The servers as configured. */
  readonly servers: readonly ConfiguredServer[];
}

/** A server as configured in a plugin's file. */
export interface ConfiguredServer {
  readonly name: string;
  readonly file: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** Whether everything in the file could be read reliably. */
  readonly isCertain: boolean;
}

/** The members of one file. */
class FoundMembers {
  readonly servers: MemberServer[] = [];
  readonly skills: MemberSkill[] = [];
  readonly commands: string[] = [];
  readonly agents: string[] = [];
  readonly hooks: MemberHook[] = [];
  readonly lsp: MemberLspServer[] = [];
  readonly executables: string[] = [];
  readonly configured: Pick<ConfiguredServer, 'name' | 'config'>[] = [];
  isCertain = true;

  get isFull(): boolean {
    const { servers, skills, commands, agents, hooks, lsp } = this;
    const all = [servers, skills, commands, agents, hooks, lsp];
    return all.reduce((sum, { length }) => sum + length, 0) > MAX_MEMBERS_PER_FILE;
  }

  packagesOf({ packages, isCertain }: Launch): Pick<MemberServer, 'packages'> {
    if (!isCertain) this.isCertain = false;
    return packages.length === 0 ? {} : { packages };
  }

  /** Cuts a text; it is then uncertain what a client runs or connects to. */
  text(text: string, maxLength: number): string {
    const kept = toStorable(text, maxLength);
    if (kept !== text) this.isCertain = false;
    return kept;
  }
}

class MembersReader<File extends MemberFile> {
  private readonly byName: ReadonlyMap<string, File>;
  private readonly found: Record<keyof Omit<Members, 'unreadable'>, Map<string, unknown>> = {
    servers: new Map(),
    skills: new Map(),
    commands: new Map(),
    agents: new Map(),
    hooks: new Map(),
    lsp: new Map(),
    executables: new Map(),
  };
  readonly servers: ConfiguredServer[] = [];
  private readonly unreadable = new Set<string>();
  /** Components by path, each read once. */
  private readonly seen = new Set<string>();
  private length = 0;
  private serversLength = 0;
  private parsed = 0;

  constructor(
    files: readonly File[],
    private readonly load: (file: File) => Promise<Buffer>,
  ) {
    this.byName = new Map(files.map((file) => [foldedName(file.path), file]));
  }

  members(): Members {
    const lists = Object.entries(this.found).map(([kind, values]) => [kind, [...values.values()]] as const);
    const all = [...lists, ['unreadable', [...this.unreadable].sort()] as const];
    return Object.fromEntries(all.filter(([, list]) => list.length > 0)) as Members;
  }

  async read(): Promise<void> {
    for (const path of MANIFESTS) {
      const file = this.byName.get(path);
      if (file) await this.readManifest(file);
    }
    for (const [component, paths] of [...Object.entries(FILES), ...Object.entries(FOLDERS)])
      for (const path of paths) await this.readPath(component as Component, path, null);
    const skill = this.byName.get('skill.md');
    if (skill) await this.readText('skills', skill);
    const executables = [...this.byName].filter(([name]) => name.startsWith('bin/'));
    for (const [, { path }] of executables) {
      const found = new FoundMembers();
      found.executables.push(path);
      this.keep(found, path);
    }
  }

  private async readManifest(file: File): Promise<void> {
    const manifest = await this.json(file);
    if (manifest === undefined) return;
    const found = new FoundMembers();
    if (!isObject(manifest)) found.isCertain = false;
    const experimental = member(manifest, 'experimental');
    for (const [component, value] of [
      ['mcpServers', member(manifest, 'mcpServers')],
      ['mcpServers', member(manifest, 'mcp_servers')],
      ['hooks', member(manifest, 'hooks')],
      ['lspServers', member(manifest, 'lspServers')],
      ['monitors', member(manifest, 'monitors')],
      ['monitors', member(experimental, 'monitors')],
      ['skills', member(manifest, 'skills')],
      ['commands', member(manifest, 'commands')],
      ['agents', member(manifest, 'agents')],
    ] as const)
      await this.readValue(component, value, file.path, found);
    this.keep(found, file.path);
  }

  /** Reads a component of a manifest: its paths, or the component itself. */
  private async readValue(
    component: Component,
    value: unknown,
    from: string,
    found: FoundMembers,
  ): Promise<void> {
    if (value === undefined || value === null || found.isFull) return;
    if (typeof value === 'string') await this.readPath(component, value, from);
    else if (component === 'monitors') readMonitors(value, found);
    else if (Array.isArray(value))
      for (const one of value.slice(0, MAX_MEMBERS_PER_FILE + 1))
        await this.readValue(component, one, from, found);
    else if (!isObject(value)) found.isCertain = false;
    else if (component in FILES) readComponent(component, value, found);
    else
      // Claude Code also accepts a map of commands.
      for (const [name, one] of Object.entries(value)) {
        const source = member(one, 'source');
        if (component === 'commands') found.commands.push(found.text(name, MAX_NAME));
        if (typeof source === 'string') await this.readPath(component, source, from);
      }
  }

  /** @param from the manifest that contains the path; null for the default places. */
  private async readPath(component: Component, given: string, from: string | null): Promise<void> {
    await pauseIfDue();
    if (given.length > MAX_PATH) {
      if (from !== null) this.unreadable.add(from);
      return;
    }
    const path = foldedName(
      given
        .replaceAll('\\', '/')
        .replace(/^\$\{(?:CLAUDE_)?PLUGIN_ROOT\}\//, '')
        .replace(/^(?:\.?\/)+|^\.$/, '')
        .replace(/\/+$/, ''),
    );
    const key = `${component} ${path}`;
    if (this.seen.has(key)) return;
    this.seen.add(key);
    const file = this.byName.get(path);
    if (file) return component in FILES ? this.readJson(component, file) : this.readText(component, file);
    const inFolder = [...this.byName].filter(([name]) => path === '' || name.startsWith(`${path}/`));
    if (component in FOLDERS)
      for (const [name, each] of inFolder) if (isOf(component, name)) await this.readText(component, each);
    // A client may find something in a bundle, a pattern, a path outside or a URL. Many manifests list a folder that
    // does not exist.
    const isPlain = component in FOLDERS && !/[*?[{:]|\.\./.test(path);
    if (from !== null && inFolder.length === 0 && !isPlain) this.unreadable.add(from);
  }

  private async readJson(component: Component, file: File): Promise<void> {
    const value = await this.json(file);
    if (value === undefined) return;
    const found = new FoundMembers();
    readComponent(component, value, found);
    this.keep(found, file.path);
  }

  /** Reads a skill, command or agent. */
  private async readText(component: Component, file: File): Promise<void> {
    await pauseIfDue();
    const { path, bytes } = file;
    const data = bytes > MAX_TEXT_BYTES ? undefined : await this.load(file);
    if (data === undefined || !isUtf8(data)) {
      this.unreadable.add(path);
      return;
    }
    const found = new FoundMembers();
    const text = data
      .subarray(0, MAX_FRONTMATTER * 4)
      .toString()
      .slice(0, MAX_FRONTMATTER);
    const isCut = Buffer.byteLength(text) < data.length;
    if (path.toLowerCase().endsWith('l')) {
      // What Codex requires for a skill.
      if (isCut || hidesKeys(text)) found.isCertain = false;
      for (const tool of elements(
        member(member(this.keys(/dependencies|\\/.test(text) ? text : '', found), 'dependencies'), 'tools'),
      ))
        if (member(tool, 'type') === 'mcp') readServer(String(member(tool, 'value')), tool, found);
      this.keep(found, path);
      return;
    }
    const { name, description = '', starts, isCertain } = frontmatterOf(text, isCut);
    if (!isCertain) found.isCertain = false;
    const base = /([^/]+?)(?:\.agent)?\.\w+$/.exec(path)?.[1] ?? path;
    const folder = path.split('/').at(-2) ?? base;
    if (component === 'skills')
      found.skills.push({
        name: toStorable(name ?? folder, MAX_NAME),
        description: toStorable(description, MAX_DESCRIPTION),
      });
    else if (component === 'agents') found.agents.push(toStorable(name ?? base, MAX_NAME));
    else found.commands.push(toStorable(base, MAX_NAME));
    for (const [key, value] of Object.entries(this.keys(starts, found))) {
      if (key === 'hooks') readComponent('hooks', { hooks: value }, found);
      if (/^mcp_?servers$/i.test(key))
        for (const one of Array.isArray(value) ? value : [value])
          if (isObject(one)) readComponent('mcpServers', { mcpServers: one }, found);
    }
    this.keep(found, path);
  }

  private keys(yaml: string, found: FoundMembers): Readonly<Record<string, unknown>> {
    if (yaml === '') return {};
    this.parsed += 1;
    const keys = this.parsed > MAX_PARSED_FILES ? null : keysOf(yaml);
    if (keys === null) found.isCertain = false;
    return keys ?? {};
  }

  private async json(file: File): Promise<unknown> {
    await pauseIfDue();
    if (file.bytes <= MAX_JSON_BYTES) {
      const data = await this.load(file);
      if (isUtf8(data) && !isDeeperThan(data, MAX_DEPTH)) {
        const text = data.toString().replace(/^\ufeff/, '');
        try {
          const value: unknown = JSON.parse(text);
          if (repeatedKey(text) === null) return value;
        } catch {
          // Unreadable; so are comments, which some clients accept.
        }
      }
    }
    this.unreadable.add(file.path);
    return undefined;
  }

  /** Also keeps the servers of an uncertain file, for deny-lists; if there are too many, keeps only their names. */
  private keepServers({ configured, isCertain, isFull }: FoundMembers, file: string): void {
    for (const { name, config } of configured) {
      this.serversLength += name.length + JSON.stringify(config).length;
      if (this.serversLength <= MAX_SERVERS_LENGTH)
        this.servers.push({ name, file, config, isCertain: isCertain && !isFull });
      else if (this.servers.length < MAX_MEMBERS_PER_FILE)
        this.servers.push({ name: toStorable(name, MAX_NAME), file, config: {}, isCertain: false });
    }
  }

  private keep(found: FoundMembers, path: string): void {
    this.keepServers(found, path);
    if (!found.isCertain || found.isFull) this.unreadable.add(path);
    if (found.isFull) return;
    const added = (Object.keys(this.found) as (keyof typeof this.found)[]).flatMap((kind) =>
      found[kind].map((value) => ({ kind, value, key: JSON.stringify(value) })),
    );
    const length = added.reduce((sum, { key }) => sum + key.length, this.length);
    if (length > MAX_LENGTH) {
      this.unreadable.add(path);
      return;
    }
    this.length = length;
    for (const { kind, value, key } of added) this.found[kind].set(key, value);
  }
}

/** Whether any client reads this file of a folder. */
function isOf(component: Component, path: string): boolean {
  if (component === 'skills') return /(?:^|\/)(?:skill\.md|agents\/openai\.ya?ml)$/.test(path);
  return /\.(?:md|mdc|markdown|txt)$/.test(path);
}

function readComponent(component: Component, value: unknown, found: FoundMembers): void {
  if (component === 'monitors') readMonitors(value, found);
  else if (!isObject(value)) found.isCertain = false;
  else if (component === 'hooks') readHooks(value, found);
  else if (component === 'settings') {
    const line = member(value, 'subagentStatusLine');
    if (line !== undefined) readHandler('subagentStatusLine', line, found);
  } else if (component === 'mcpServers')
    for (const [name, server] of entriesOf(value, ['mcpServers', 'mcp_servers', 'servers'], found))
      readServer(name, server, found);
  else
    for (const [name, server] of entriesOf(value, ['lspServers', 'servers'], found)) {
      const { url: _, ...lsp } = serverOf(name, server, found);
      found.lsp.push(lsp);
    }
}

/** Returns the entries of a map of servers: below one of these keys, or at the same level if they look like servers. */
function entriesOf(
  value: Record<string, unknown>,
  keys: readonly string[],
  found: FoundMembers,
): [string, unknown][] {
  const own = Object.entries(value).filter(([key, one]) => !keys.includes(key) && isServer(one));
  const below = keys.flatMap((key) => {
    const map = member(value, key);
    if (map === undefined || map === null) return [];
    if (!isObject(map)) found.isCertain = false;
    return isObject(map) ? Object.entries(map) : [];
  });
  return [...own, ...below].slice(0, MAX_MEMBERS_PER_FILE + 1);
}

function isServer(value: unknown): boolean {
  return isObject(value) && ['command', ...URLS].some((key) => Object.hasOwn(value, key));
}

const URLS = ['url', 'httpUrl', 'serverUrl', 'uri'];

function readServer(name: string, value: unknown, found: FoundMembers): void {
  found.servers.push(serverOf(name, value, found));
  if (isObject(value)) found.configured.push({ name, config: value });
}

function serverOf(given: string, value: unknown, found: FoundMembers): MemberServer {
  const name = found.text(given, MAX_NAME);
  if (!isObject(value)) found.isCertain = false;
  const launch = launchOf(value, found);
  const packages = [...(launch?.packages ?? [])];
  const helper = member(value, 'headersHelper');
  if (typeof helper === 'string') packages.push(...(found.packagesOf(packagesOfLine(helper)).packages ?? []));
  const [stated] = URLS.map((key) => member(value, key)).filter((url) => url !== undefined && url !== null);
  // Connects to the remote server in its arguments.
  const isProxy = packages.some(({ identifier }) => identifier === 'mcp-remote');
  const words = launch?.words.join(' ').split(/\s+/) ?? [];
  const url = stated ?? (isProxy ? words.find((word) => /^(?:https?|wss?):/i.test(word)) : undefined);
  const kept = typeof url === 'string' ? found.text(url, MAX_COMMAND) : undefined;
  if (url !== undefined && (kept === undefined || hasExpansion(kept.split('/', 3).join('/'))))
    found.isCertain = false;
  return {
    name,
    ...(packages.length === 0 ? {} : { packages }),
    ...(kept === undefined ? {} : { url: kept }),
    ...(launch ? { command: launch.command } : {}),
  };
}

/** Reads a program with arguments, either in one text or separately. */
function launchOf(
  value: unknown,
  found: FoundMembers,
):
  | (Pick<MemberServer, 'packages'> & { readonly command: string; readonly words: readonly string[] })
  | undefined {
  const given = member(value, 'command');
  const args = member(value, 'args');
  const words = [given ?? [], args ?? []].flat();
  if (given === undefined && args === undefined) return undefined;
  const texts = words.map((word) =>
    typeof word === 'number' || typeof word === 'boolean' ? String(word) : word,
  );
  const known = texts.filter((word) => typeof word === 'string');
  if (known.length < texts.length || (args !== undefined && args !== null && !Array.isArray(args)))
    found.isCertain = false;
  const env = Object.entries(isObject(member(value, 'env')) ? (member(value, 'env') as object) : {});
  const variables = Object.fromEntries(
    env.filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
  );
  const line = known.length === 1 ? known.join('') : quoted(known);
  const command = found.text(line, MAX_COMMAND);
  if (command !== line) return { command, words: [] };
  const [program = '', ...rest] = known;
  return { ...found.packagesOf(launchedPackages(program, rest, variables)), command, words: known };
}

/** Reads `{ hooks: { EVENT: … } }`, and events at the same level as `hooks`. */
function readHooks(value: Record<string, unknown>, found: FoundMembers): void {
  const inner = member(value, 'hooks');
  if (inner !== undefined && !isObject(inner)) found.isCertain = false;
  const events = [
    ...Object.entries(isObject(inner) ? inner : {}),
    ...Object.entries(value).filter(([key, one]) => key !== 'hooks' && Array.isArray(one)),
  ];
  for (const [event, handlers] of events) readHandler(event, handlers, found);
}

function readMonitors(value: unknown, found: FoundMembers): void {
  const list = isObject(value) ? member(value, 'monitors') : value;
  if (!Array.isArray(list)) found.isCertain = false;
  readHandler('monitors', list, found);
}

/** Keys of a hook that contain a shell command line; the client determines which shell. */
const LINES = [
  'command',
  'bash',
  'linux',
  'osx',
  'powershell',
  'windows',
  'commandWindows',
  'command_windows',
];
const MAX_HANDLER_DEPTH = 4;

/** Reads the handlers of an event: objects, and lists of them nested as any client allows. */
function readHandler(event: string, value: unknown, found: FoundMembers, depth = 0): void {
  if (found.isFull) return;
  if (typeof value === 'string') return readHandler(event, { command: value }, found, depth);
  if (depth > MAX_HANDLER_DEPTH || (value !== null && typeof value !== 'object')) found.isCertain = false;
  else if (Array.isArray(value)) for (const one of value) readHandler(event, one, found, depth + 1);
  else if (isObject(value)) {
    const inner = member(value, 'hooks');
    if (inner !== undefined) readHandler(event, inner, found, depth + 1);
    const lines = LINES.filter((key) => member(value, key) !== undefined);
    for (const key of lines) found.hooks.push(hookOf(event, key, value, found));
    if (lines.length === 0 && inner === undefined) found.hooks.push({ event: found.text(event, MAX_NAME) });
  }
}

function hookOf(given: string, key: string, value: Record<string, unknown>, found: FoundMembers): MemberHook {
  const event = found.text(given, MAX_NAME);
  const line = member(value, key);
  const isExec = key === 'command' && (Array.isArray(line) || Array.isArray(member(value, 'args')));
  if (isExec) {
    const { packages, command = '' } = launchOf(value, found) ?? {};
    return { event, ...(packages ? { packages } : {}), command };
  }
  if (typeof line !== 'string') {
    found.isCertain = false;
    return { event };
  }
  const command = found.text(line, MAX_COMMAND);
  const isWindows = /powershell|windows/i.test(`${key} ${String(member(value, 'shell'))}`);
  if (command !== line) return { event, command };
  return { event, ...found.packagesOf(packagesOfLine(line, isWindows)), command };
}
