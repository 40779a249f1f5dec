import { CLAUDE_CODE, type ClientFormat, COPILOT, CURSOR, type ServerEntry, VSCODE } from './clients.js';
import { connectionsOf } from './connections.js';
import { type NamedInput, ServerWriter } from './server-writer.js';
import { Inexpressible, type Omission, type OmissionReason, TextLimit, textMember } from './template.js';

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

/** A server in a client's format. */
interface Expressed {
  readonly entry: ServerEntry;
  readonly inputs: readonly NamedInput[];
  readonly allowed: unknown;
}

/** Builds the configuration or allow-list of one client (contract §6.3), one server at a time. */
export class ClientConfig {
  private readonly format: ClientFormat;
  private readonly entries: [name: string, entry: ServerEntry][] = [];
  private readonly inputs: NamedInput[] = [];
  private readonly allowed: unknown[] = [];
  private readonly omitted: Omission[] = [];
  private taken = 0;

  constructor(
    client: ClientName,
    private readonly form: ConfigForm,
  ) {
    this.format = FORMATS[client];
  }

  get omittedCount(): number {
    return this.omitted.length;
  }

  /** The approximate number of characters added so far. */
  get characters(): number {
    return this.taken;
  }

  /** @param document a server document. Add servers in the order of their names, each only once. */
  add(document: unknown): void {
    const name = textMember(document, 'name') ?? '';
    const limit = new TextLimit();
    const expressed = this.express(name, document, limit);
    if (typeof expressed === 'string') {
      this.omitted.push({ name, version: textMember(document, 'version') ?? '', reason: expressed });
      return;
    }
    this.taken += limit.characters;
    this.entries.push([name, expressed.entry]);
    this.inputs.push(...expressed.inputs);
    this.allowed.push(expressed.allowed);
  }

  /** Returns the result. Equal documents always give identical bytes. */
  toJson(): object {
    const omitted = this.omitted.length > 0 ? { [OMITTED]: this.omitted } : {};
    const config =
      this.form === 'servers'
        ? this.format.servers(Object.fromEntries(this.entries), this.inputs)
        : this.format.allowlist(this.allowed);
    return { ...config, ...omitted };
  }

  // The configuration and the allow-list use the same connection: the first one that the client supports.
  private express(name: string, document: unknown, limit: TextLimit): Expressed | OmissionReason {
    let reason: OmissionReason = 'no_connection';
    for (const [position, connect] of connectionsOf(document, limit).entries()) {
      const writer = new ServerWriter(name, this.format.rules);
      try {
        const connection = connect();
        const entry = this.format.entry(connection, writer);
        return this.isAllowed(entry, () => this.format.allowed(connection, entry), writer.inputs);
      } catch (error) {
        if (!(error instanceof Inexpressible)) throw error;
        if (position === 0) reason = error.reason;
      }
    }
    return reason;
  }

  private isAllowed(
    entry: ServerEntry,
    allow: () => unknown,
    inputs: readonly NamedInput[],
  ): Expressed | OmissionReason {
    if (this.form === 'servers') return { entry, inputs, allowed: undefined };
    try {
      return { entry, inputs, allowed: allow() };
    } catch (error) {
      if (error instanceof Inexpressible) return error.reason;
      throw error;
    }
  }
}
