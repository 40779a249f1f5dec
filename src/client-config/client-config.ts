import { TimeSlice } from '../json/time-slice.js';
import { CLAUDE_CODE, type ClientFormat, COPILOT, CURSOR, VSCODE } from './clients.js';
import { connectionsOf } from './connections.js';
import { ServerWriter } from './server-writer.js';
import { Inexpressible, type Omission, type OmissionReason, TextLimit } from './template.js';

/** The supported clients (contract §6.3). */
export const CLIENTS = ['vscode', 'copilot', 'claude-code', 'cursor'] as const;
export type ClientName = (typeof CLIENTS)[number];
export const CONFIG_FORMS = ['servers', 'allowlist'] as const;
export type ConfigForm = (typeof CONFIG_FORMS)[number];

const FORMATS: Readonly<Record<ClientName, ClientFormat>> = {
  vscode: VSCODE,
  copilot: COPILOT,
  'claude-code': CLAUDE_CODE,
  cursor: CURSOR,
};

/** The configuration member that lists omitted servers. Clients ignore it. */
export const OMITTED = 'x-omitted';

/** Servers with a longer document are omitted (contract §14). */
export const MAX_DOCUMENT_BYTES = 64 * 1_024;
/** Servers with a longer configuration are omitted. */
const MAX_PART_CHARACTERS = 64 * 1_024;

/** The latest version of a server. */
export interface LatestServer {
  readonly name: string;
  readonly version: string;
  /** JSON text; may be empty if it is longer than `MAX_DOCUMENT_BYTES`. */
  readonly document: string;
}

/** A configuration of one server, or only the member `OMITTED`. */
export type ConfigPart = Readonly<Record<string, unknown>>;

/** Some items of a member, and the position to continue from; null at the end. */
export interface ItemPage<Position> {
  readonly items: readonly string[];
  readonly next: Position | null;
}

type ReadItems<Position> = (key: string, after: Position | null) => Promise<ItemPage<Position>>;

/** Builds the configuration or allow-list of one client (contract §6.3, §14). */
export class ClientConfig {
  private readonly format: ClientFormat;
  /** The configuration without servers. */
  private readonly empty: ConfigPart;
  /** The values of all members without servers, in order. */
  private readonly members: ConfigPart;

  constructor(
    client: ClientName,
    private readonly form: ConfigForm,
  ) {
    const format = FORMATS[client];
    const isList = form === 'allowlist';
    this.format = format;
    this.empty = isList ? { ...format.allowlist([]) } : { [format.serversKey]: {} };
    this.members = { ...this.empty, ...(isList ? {} : { [format.inputsKey]: [] }), [OMITTED]: [] };
  }

  /**
   * Returns the configuration of one server. A configuration of several servers has the same members, each with the
   * items of all servers.
   */
  of({ name, version, document }: LatestServer): ConfigPart {
    const isTooLong = document === '' || Buffer.byteLength(document) > MAX_DOCUMENT_BYTES;
    const part = isTooLong ? 'too_long' : this.express(name, JSON.parse(document));
    if (typeof part !== 'string' && JSON.stringify(part, null, 2).length <= MAX_PART_CHARACTERS) return part;
    const reason = typeof part === 'string' ? part : 'too_long';
    return { [OMITTED]: [{ name, version, reason } satisfies Omission] };
  }

  /**
   * Generates the text of a configuration in UTF-8: indented JSON. Equal items always give identical bytes. Memory use
   * depends only on the size of the pages.
   *
   * @param read reads a page of the items of one member, ordered by the names of the servers: see `itemsOf`. Every member
   *   is read from its start to its end.
   */
  async *text<Position>(read: ReadItems<Position>): AsyncGenerator<Buffer> {
    let before = '{\n  ';
    for (const [key, empty] of Object.entries(this.members)) {
      const start = `${before}${JSON.stringify(key)}: `;
      const [open, close] = Array.isArray(empty) ? '[]' : '{}';
      let hasItems = false;
      let after: Position | null = null;
      let isAtEnd = typeof empty !== 'object';
      while (!isAtEnd) {
        const lead = `${hasItems ? ',' : `${start}${open}`}\n    `;
        const piece: Piece<Position> = await pieceOf(read(key, after), lead);
        if (piece.bytes.length > 0) yield piece.bytes;
        hasItems ||= piece.bytes.length > 0;
        after = piece.next;
        isAtEnd = after === null;
      }
      if (!hasItems && !(key in this.empty)) continue;
      yield Buffer.from(hasItems ? `\n  ${close}` : `${start}${JSON.stringify(empty)}`);
      before = ',\n  ';
    }
    yield Buffer.from('\n}\n');
  }

  // The configuration and the allow-list use the same connection: the first one that the client supports.
  private express(name: string, document: unknown): ConfigPart | OmissionReason {
    const { format } = this;
    let reason: OmissionReason = 'no_connection';
    for (const [position, connect] of connectionsOf(document, new TextLimit()).entries()) {
      const writer = new ServerWriter(name, format.rules);
      try {
        const connection = connect();
        const entry = format.entry(connection, writer);
        if (this.form === 'allowlist') return allowed(() => format.allowed(connection, entry), format);
        const inputs = writer.inputs.map((input) => format.input(input));
        return {
          [format.serversKey]: { [name]: entry },
          ...(inputs.length > 0 ? { [format.inputsKey]: inputs } : {}),
        };
      } catch (error) {
        if (!(error instanceof Inexpressible)) throw error;
        if (position === 0) reason = error.reason;
      }
    }
    return reason;
  }
}

function allowed(entry: () => unknown, format: ClientFormat): ConfigPart | OmissionReason {
  try {
    return { ...format.allowlist([entry()]) };
  } catch (error) {
    if (error instanceof Inexpressible) return error.reason;
    throw error;
  }
}

interface Piece<Position> {
  readonly bytes: Buffer;
  readonly next: Position | null;
}

// The generator keeps its variables while the client reads, so it must not see the items.
async function pieceOf<Position>(page: Promise<ItemPage<Position>>, lead: string): Promise<Piece<Position>> {
  const { items, next } = await page;
  return { bytes: Buffer.from(items.length === 0 ? '' : `${lead}${items.join(',\n    ')}`), next };
}

/** Returns the items that the parts have in a member, as indented JSON. */
export async function itemsOf(key: string, parts: readonly ConfigPart[]): Promise<string[]> {
  const slice = new TimeSlice();
  const items: string[] = [];
  for (const part of parts) {
    await slice.pause();
    const value = part[key] ?? {};
    for (const [name, item] of Object.entries(value)) {
      const text = JSON.stringify(item, null, 2).replaceAll('\n', '\n    ');
      items.push(Array.isArray(value) ? text : `${JSON.stringify(name)}: ${text}`);
    }
  }
  return items;
}
