import type { Connection } from './connection.js';
import type { NamedInput, ServerWriter, TextRules } from './server-writer.js';

/** An entry of a configuration; which members it has is the client's to say. */
export type ServerEntry = Readonly<Record<string, unknown>>;

/** The configuration of a client, and its allow-list. */
export interface ClientFormat<Allowed = unknown> {
  readonly rules: TextRules;
  /** @throws Inexpressible */
  readonly entry: (connection: Connection, writer: ServerWriter) => ServerEntry;
  /** @param entries by the names of the servers, in their order. */
  readonly servers: (entries: Readonly<Record<string, ServerEntry>>, inputs: readonly NamedInput[]) => object;
  /**
   * What allows exactly the server of this entry.
   *
   * @throws Inexpressible
   */
  readonly allowed: (connection: Connection, entry: ServerEntry) => Allowed;
  allowlist(allowed: readonly Allowed[]): object;
}
