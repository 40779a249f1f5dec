import { createHash } from 'node:crypto';
import { stringify } from 'smol-toml';
import { member, textMember } from '../json/json-values.js';
import { smallestWithin } from '../limits/smallest-within.js';
import { pauseIfDue } from '../limits/time-slice.js';
import { type ClientFormat, type ClientName, type ConfigForm, FORMATS, type ServerEntry } from './clients.js';
import { type ServerConnection, connectionsOf } from './connections.js';
import { pluginNameOf } from '../documents/plugin-name.js';
import {
  allowedConnection,
  type PluginServer,
  type PluginVersion,
  startedConnections,
} from './plugin-server.js';
import { ServerWriter } from './server-writer.js';
import { Inexpressible, type Omission, type OmissionReason, TextLimit } from './template.js';

const SYNTAXES = {
  json: { extension: 'json', mediaType: 'application/json; charset=utf-8' },
  toml: { extension: 'toml', mediaType: 'application/toml' },
} as const;

/** Returns the file name extension and the media type of a client's files. */
export function syntaxOf(client: ClientName): (typeof SYNTAXES)[keyof typeof SYNTAXES] {
  return SYNTAXES[FORMATS[client].syntax];
}

/** The configuration member that lists omitted servers. Clients ignore it; in TOML it is a comment. */
export const OMITTED = 'x-omitted';

/** Servers with a longer document are omitted (reference/client-config). */
export const MAX_SERVER_BYTES = 64 * 1_024;
/** Servers with a longer configuration are omitted. */
const MAX_PART_CHARACTERS = 64 * 1_024;

export interface ServerVersion {
  readonly name: string;
  readonly version: string;
  /** JSON text; may be empty if it is longer than `MAX_SERVER_BYTES`. */
  readonly document: string;
  /** The parsed document, if the caller has it. */
  readonly parsed?: unknown;
}

/**
 * The versions that a file needs: the latest of each server and plugin, versions to be denied, and servers and plugins
 * held by blocks.
 */
export type VersionKind = 'latest' | 'plugin' | 'denied' | 'blocked' | 'blockedPlugin';

/** The plugin settings of a file, apart from the plugins' servers. */
export interface PluginPolicy {
  /** The name of the marketplace in clients. */
  readonly marketplace: string;
  /** Further members of the client's managed settings: see `managedPlugins`. */
  readonly settings?: object;
}

/** A configuration of one server, or only the member `OMITTED`. */
export type ConfigPart = Readonly<Record<string, unknown>>;

/** Some items of a member, and the position to continue from; null at the end. */
export interface ItemPage<Position> {
  readonly items: readonly string[];
  readonly next: Position | null;
}

type ReadItems<Position> = (key: string, after: Position | null) => Promise<ItemPage<Position>>;

/** Builds a client's configuration or one of its lists (reference/client-config). */
export class ClientConfig {
  private readonly format: ClientFormat;
  private readonly empty: ConfigPart;
  /** The values of all members without servers, in order. */
  private readonly members: ConfigPart;
  /** Members that do not depend on servers. */
  private readonly settings: ConfigPart;
  /** The versions that `of` and `denied` expect, in the order in which they are read. */
  readonly kinds: readonly VersionKind[];

  /**
   * @param form one of `formsOf(client)`.
   * @param plugins absent if the registry is not a marketplace.
   */
  constructor(
    client: ClientName,
    private readonly form: ConfigForm,
    private readonly plugins?: PluginPolicy,
  ) {
    const format = FORMATS[client];
    this.format = format;
    const isAllowlist = form === 'allowlist' || form === 'managed';
    const denied = form === 'managed' || form === 'denylist' ? format.denylist?.([]) : undefined;
    const listsPlugins = !format.pluginAllowlist || plugins !== undefined;
    this.empty = {
      ...(form === 'servers' ? { [format.serversKey]: {} } : {}),
      ...(isAllowlist ? format.allowlist([]) : {}),
      ...(isAllowlist && plugins && format.pluginAllowlist ? { plugins: {} } : {}),
      ...denied,
    };
    this.settings = { ...(form === 'managed' ? plugins?.settings : {}) };
    // Listed before the servers, because users have to set these variables first.
    const inputs = form === 'servers' ? { [format.inputsKey]: [] } : {};
    this.members =
      format.syntax === 'toml'
        ? { ...this.empty, ...inputs, [OMITTED]: [] }
        : { ...inputs, ...this.empty, [OMITTED]: [] };
    this.kinds = [
      ...(form === 'denylist' ? [] : ['latest' as const]),
      ...(isAllowlist && listsPlugins ? ['plugin' as const] : []),
      ...(denied === undefined ? [] : (['denied', 'blocked', 'blockedPlugin'] as const)),
    ];
  }

  /**
   * Returns the configuration of one server. A configuration of several servers has the same members, each with the
   * items of all servers.
   */
  of(server: ServerVersion): ConfigPart {
    return bounded(server, () => {
      const connected = this.connect(server);
      if (typeof connected === 'string') return connected;
      const { connection, entry, writer } = connected;
      const { format } = this;
      if (this.form !== 'servers')
        return expressed(() => ({
          ...format.allowlist([format.listed(connection, entry, server.name)]),
        }));
      const inputs = [
        ...writer.inputs.map((input) => format.input(input)),
        ...(format.settings?.(connection, server.name) ?? []),
      ];
      return {
        ...(inputs.length > 0 ? { [format.inputsKey]: inputs } : {}),
        [format.serversKey]: { [format.keyOf(server.name)]: entry },
      };
    });
  }

  /**
   * Returns a denied version in a deny-list: every connection that the client supports and no listed server uses.
   *
   * @param listed see `listedKeys`.
   */
  denied(server: ServerVersion, listed: ReadonlySet<string>): ConfigPart {
    return bounded(server, () => {
      const entries: unknown[] = [];
      let reason: OmissionReason = 'no_connection';
      for (const found of this.entriesOf(server))
        if (typeof found === 'string') reason = found;
        else if (isIn(listed, conflictsOf(found.entry))) reason = 'still_listed';
        else entries.push(found.entry);
      return entries.length === 0 ? reason : { ...this.format.denylist?.(entries) };
    });
  }

  /** Returns the keys of a listed server's connections, which no entry of a deny-list may block. */
  listedKeys(server: ServerVersion): readonly string[] {
    return this.entriesOf(server).flatMap((found) => (typeof found === 'string' ? [] : keysOf(found.entry)));
  }

  /**
   * Returns the keys that a denied version or blocked plugin has in a deny-list; no plugin may have one of them in an
   * allow-list.
   *
   * @param listed see `listedKeys`.
   */
  deniedKeys(found: ServerVersion | PluginVersion, listed: ReadonlySet<string>): readonly string[] {
    const entries =
      'servers' in found
        ? found.servers.flatMap((server) => this.startedEntries(found.name, server))
        : this.entriesOf(found);
    return entries.flatMap((each) => {
      const keys = typeof each === 'string' ? [] : conflictsOf(each.entry);
      return isIn(listed, keys) ? [] : keys;
    });
  }

  /**
   * Returns a plugin's servers in an allow-list.
   *
   * @param denied see `deniedKeys`. A plugin must not lift the denial of a connection.
   */
  ofPlugin(plugin: PluginVersion, denied: ReadonlySet<string>): ConfigPart {
    const { format, plugins } = this;
    const find = (server: PluginServer) => [
      this.entryOf(plugin.name, server, () => allowedConnection(server)),
    ];
    return this.pluginPart(plugin, find, denied, 'denied', keysOf, (listed) => {
      if (listed.length === 0) return {};
      if (!format.pluginAllowlist) return { ...format.allowlist(listed.map(([, entry]) => entry)) };
      const id = `${pluginNameOf(plugin.name)}@${plugins?.marketplace}`;
      return { ...format.pluginAllowlist(id, listed) };
    });
  }

  /**
   * Returns the deny-list entries for the servers of a blocked plugin.
   *
   * @param listed see `listedKeys`.
   */
  deniedPlugin(plugin: PluginVersion, listed: ReadonlySet<string>): ConfigPart {
    const find = (server: PluginServer) => this.startedEntries(plugin.name, server);
    return this.pluginPart(plugin, find, listed, 'still_listed', conflictsOf, (denied) =>
      denied.length === 0 ? {} : { ...this.format.denylist?.(denied.map(([, entry]) => entry)) },
    );
  }

  /**
   * @param excluded keys of entries that are omitted with this reason.
   * @param keys returns the keys of an entry.
   */
  private pluginPart(
    { name, version, servers }: PluginVersion,
    find: (server: PluginServer) => readonly Found[],
    excluded: ReadonlySet<string>,
    reason: OmissionReason,
    keys: (entry: unknown) => readonly string[],
    express: (listed: readonly (readonly [PluginServer, unknown])[]) => ConfigPart,
  ): ConfigPart {
    const omitted: Omission[] = [];
    const listed = servers.flatMap((server) =>
      find(server).flatMap((found) => {
        const why = typeof found === 'string' ? found : isIn(excluded, keys(found.entry)) ? reason : null;
        if (typeof found !== 'string' && why === null) return [[server, found.entry] as const];
        if (why !== null) omitted.push({ name, version, server: server.name, reason: why });
        return [];
      }),
    );
    const kept = smallestWithin(
      listed,
      MAX_PART_CHARACTERS / 2,
      ([, entry]) => JSON.stringify(entry, null, 2).length,
    );
    const all = new Set(kept);
    for (const each of listed)
      if (!all.has(each)) omitted.push({ name, version, server: each[0].name, reason: 'too_long' });
    if (omitted.length === 0) return express(kept);
    const isLong = JSON.stringify(omitted, null, 2).length > MAX_PART_CHARACTERS / 2;
    const whole: Omission = { name, version, reason: 'too_long' };
    return { ...express(kept), [OMITTED]: isLong ? [whole] : omitted };
  }

  /** Returns a server's entries in a list, or why they have none. */
  private entriesOf(server: ServerVersion): readonly Found[] {
    if (isTooLong(server)) return [];
    return [...this.connections(server)].map((found) => {
      if (typeof found === 'string') return found;
      const { connection, entry } = found;
      return expressed(() => ({ entry: this.format.listed(connection, entry, server.name) }));
    });
  }

  private startedEntries(plugin: string, server: PluginServer): readonly Found[] {
    return startedConnections(server).map((connect) => this.entryOf(plugin, server, connect));
  }

  private entryOf(plugin: string, server: PluginServer, connect: () => ServerConnection): Found {
    const { format } = this;
    return expressed(() => {
      const connection = connect();
      const entry = format.entry(connection, new ServerWriter(plugin, format.rules));
      return { entry: format.listed(connection, entry, server.name) };
    });
  }

  /**
   * Generates the text of a configuration in UTF-8: indented JSON, or TOML. Equal items always give identical bytes.
   * Memory use depends only on the size of the pages.
   *
   * @param read reads a page of the items of one member, ordered by the names of the servers: see `itemsOf`. Every member
   *   is read from its start to its end.
   */
  text<Position>(read: ReadItems<Position>): AsyncGenerator<Buffer> {
    return this.format.syntax === 'toml' ? this.toml(read) : this.json(read);
  }

  private async *json<Position>(read: ReadItems<Position>): AsyncGenerator<Buffer> {
    let before = '{\n  ';
    for (const [key, empty] of Object.entries(this.members)) {
      const start = `${before}${JSON.stringify(key)}: `;
      const [open, close] = Array.isArray(empty) ? '[]' : '{}';
      let hasItems = false;
      let after: Position | null = null;
      let isAtEnd = typeof empty !== 'object';
      while (!isAtEnd) {
        const lead = `${hasItems ? ',' : `${start}${open}`}\n    `;
        const piece: Piece<Position> = await pieceOf(read(key, after), lead, ',\n    ');
        if (piece.bytes.length > 0) yield piece.bytes;
        hasItems ||= piece.bytes.length > 0;
        after = piece.next;
        isAtEnd = after === null;
      }
      if (!hasItems && !(key in this.empty)) continue;
      yield Buffer.from(hasItems ? `\n  ${close}` : `${start}${JSON.stringify(empty)}`);
      before = ',\n  ';
    }
    for (const [key, value] of Object.entries(this.settings)) {
      yield Buffer.from(`${before}${JSON.stringify(key)}: ${indented(value, '  ')}`);
      before = ',\n  ';
    }
    yield Buffer.from('\n}\n');
  }

  private async *toml<Position>(read: ReadItems<Position>): AsyncGenerator<Buffer> {
    if (Object.keys(this.settings).length > 0) yield Buffer.from(`${stringify(this.settings)}\n`);
    // An empty table matters: Codex then allows no server.
    for (const key of Object.keys(this.empty)) yield Buffer.from(`[${key}]\n`);
    for (const key of Object.keys(this.members)) {
      let hasItems = false;
      for (let after: Position | null = null, isAtEnd = false; !isAtEnd;) {
        const piece: Piece<Position> = await pieceOf(read(key, after), '\n', '\n');
        if (piece.bytes.length > 0) yield piece.bytes;
        hasItems ||= piece.bytes.length > 0;
        after = piece.next;
        isAtEnd = after === null;
      }
      if (key === FORMATS.codex.serversKey && !hasItems && 'plugins' in this.empty)
        yield Buffer.from(NO_SERVER);
    }
  }

  /** Returns the items that the parts have in a member, as text: indented JSON, or TOML tables. */
  itemsOf(key: string, parts: readonly ConfigPart[]): Promise<string[]> {
    return itemsOf(key, parts, this.format.syntax === 'toml' ? tomlItem : jsonItem);
  }

  // All forms use the same connection: the first one that the client supports.
  private connect(server: ServerVersion): Connected | OmissionReason {
    let reason: OmissionReason = 'no_connection';
    let isFirst = true;
    for (const found of this.connections(server)) {
      if (typeof found !== 'string') return found;
      if (isFirst) reason = found;
      isFirst = false;
    }
    return reason;
  }

  /** Tries the connections of a document, best first. */
  private *connections({ name, document, parsed }: ServerVersion): Generator<Connected | OmissionReason> {
    for (const connect of connectionsOf(parsed ?? JSON.parse(document), new TextLimit())) {
      const writer = new ServerWriter(name, this.format.rules);
      yield expressed(() => {
        const connection = connect();
        return { connection, entry: this.format.entry(connection, writer), writer };
      });
    }
  }
}

/** An entry of a list, or why there is none. */
type Found = { readonly entry: unknown } | OmissionReason;

interface Connected {
  readonly connection: ServerConnection;
  readonly entry: ServerEntry;
  readonly writer: ServerWriter;
}

function isTooLong({ document }: ServerVersion): boolean {
  return document === '' || Buffer.byteLength(document) > MAX_SERVER_BYTES;
}

/** Returns the part, or only the reason for its omission. */
function bounded(server: ServerVersion, express: () => ConfigPart | OmissionReason): ConfigPart {
  const part = isTooLong(server) ? 'too_long' : express();
  if (typeof part !== 'string' && JSON.stringify(part, null, 2).length <= MAX_PART_CHARACTERS) return part;
  const reason = typeof part === 'string' ? part : 'too_long';
  return { [OMITTED]: [{ name: server.name, version: server.version, reason } satisfies Omission] };
}

function expressed<Value extends object>(express: () => Value): Value | OmissionReason {
  try {
    return express();
  } catch (error) {
    if (error instanceof Inexpressible) return error.reason;
    throw error;
  }
}

/** Returns the keys by which a list entry is compared: its command, or its URL and the origin of its URL. */
function keysOf(listed: unknown): string[] {
  const entry = identityIn(listed);
  const url = urlIn(entry);
  return url === undefined
    ? [digestOf('command', JSON.stringify(entry))]
    : [digestOf('url', canonical(url)), digestOf('origin', originOf(url))];
}

/** Returns the keys of listed entries that this entry of a deny-list would block; with a wildcard, of the whole origin. */
function conflictsOf(entry: unknown): string[] {
  const [own = '', origin = ''] = keysOf(entry);
  return urlIn(identityIn(entry))?.includes('*') ? [own, origin] : [own];
}

/** Codex has pairs of a key, which depends on the name, and an identity. */
function identityIn(entry: unknown): unknown {
  return Array.isArray(entry) ? member(entry[1], 'identity') : entry;
}

function urlIn(entry: unknown): string | undefined {
  return textMember(entry, 'serverUrl') ?? textMember(entry, 'url');
}

function isIn(set: ReadonlySet<string>, keys: readonly string[]): boolean {
  return keys.some((key) => set.has(key));
}

function digestOf(kind: string, text: string): string {
  return createHash('sha256').update(`${kind} ${text}`).digest('base64url').slice(0, 22);
}

/** Normalizes a URL as the clients do before they compare it. */
function canonical(url: string): string {
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  parsed.hash = '';
  return parsed.href.replace(/^(\w+:\/\/[^/]*?)\.(?=[:/])/, '$1');
}

function originOf(url: string): string {
  return /^\w+:\/\/[^/]*/.exec(canonical(url))?.[0] ?? url;
}

/**
 * A requirement that no server meets. Codex reads a list without servers as a ban that includes the servers of plugins,
 * regardless of their own lists (as of Codex 0.171.0).
 */
const NO_SERVER = `\n${stringify({ [FORMATS.codex.serversKey]: { none: { identity: { command: { executable: '', args: [] } } } } })}\n`;

interface Piece<Position> {
  readonly bytes: Buffer;
  readonly next: Position | null;
}

// The generator keeps its variables while the client reads, so it must not see the items.
async function pieceOf<Position>(
  page: Promise<ItemPage<Position>>,
  lead: string,
  separator: string,
): Promise<Piece<Position>> {
  const { items, next } = await page;
  return { bytes: Buffer.from(items.length === 0 ? '' : `${lead}${items.join(separator)}`), next };
}

type ItemText = (key: string, name: string | null, item: unknown) => string;

const jsonItem: ItemText = (_key, name, item) => {
  const text = indented(item, '    ');
  return name === null ? text : `${JSON.stringify(name)}: ${text}`;
};

function indented(value: unknown, indent: string): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', `\n${indent}`);
}

// Codex refuses unknown keys in strict mode, so members that it does not know become comments.
const tomlItem: ItemText = (key, name, item) => {
  const text = stringify({ [key]: name === null ? [item] : { [name]: item } }).trimEnd();
  return `${key.startsWith('x-') ? text.replace(/^/gm, '# ') : text}\n`;
};

export function tomlOf(part: ConfigPart): string {
  return Object.keys(part)
    .flatMap((key) => itemsIn(key, part, tomlItem))
    .join('\n');
}

async function itemsOf(key: string, parts: readonly ConfigPart[], textOf: ItemText): Promise<string[]> {
  const items: string[] = [];
  for (const part of parts) {
    await pauseIfDue();
    items.push(...itemsIn(key, part, textOf));
  }
  return items;
}

function itemsIn(key: string, part: ConfigPart, textOf: ItemText): string[] {
  const value = part[key] ?? {};
  return Object.entries(value).map(([name, item]) => textOf(key, Array.isArray(value) ? null : name, item));
}
