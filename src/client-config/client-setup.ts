import { elements, isObject, member } from '../json/json-values.js';
import {
  ClientConfig,
  MAX_SERVER_BYTES,
  OMITTED,
  type ServerVersion,
  syntaxOf,
  tomlOf,
} from './client-config.js';
import { type ClientName, CLIENTS } from './clients.js';
import { type Omission, type OmissionReason, OMISSIONS } from './template.js';

/** The configuration of one server for a client, or why it has none. */
export interface ClientSetup {
  readonly client: ClientName;
  readonly configuration?: object;
  /** The configuration as text, if it is not JSON. */
  readonly toml?: string;
  readonly omitted?: { readonly reason: OmissionReason; readonly explanation: string };
}

export function setupOf(client: ClientName, server: ServerVersion): ClientSetup {
  const configuration = new ClientConfig(client, 'servers').of(server);
  const [omission] = elements(configuration[OMITTED]) as Omission[];
  return omission
    ? { client, omitted: { reason: omission.reason, explanation: OMISSIONS[omission.reason] } }
    : {
        client,
        configuration,
        ...(syntaxOf(client).extension === 'toml' ? { toml: tomlOf(configuration) } : {}),
      };
}

/** A remote or package of a document, by its position there, with its configuration for each client. */
export interface ServerOption {
  readonly kind: 'remote' | 'package';
  readonly index: number;
  readonly clients: readonly ClientSetup[];
}

/** Maximum number of options; documents with more are rare. */
export const MAX_OPTIONS = 10;

/**
 * Returns the ways to run or reach a server, in the order of the document, remotes first.
 *
 * @param server with its document as JSON text of any length.
 */
export function optionsOf(server: Required<ServerVersion>): readonly ServerOption[] {
  const { name, version, parsed } = server;
  const isTooLong = Buffer.byteLength(server.document) > MAX_SERVER_BYTES;
  const positions = [
    ...elements(member(parsed, 'remotes')).map((each, index) => ({ kind: 'remote' as const, index, each })),
    ...elements(member(parsed, 'packages')).map((each, index) => ({ kind: 'package' as const, index, each })),
  ].filter(({ each }) => isObject(each));
  return positions.slice(0, MAX_OPTIONS).map(({ kind, index, each }) => {
    const one = JSON.stringify({ [`${kind}s`]: [each] });
    const alone = { name, version, document: isTooLong ? '' : one };
    return { kind, index, clients: CLIENTS.map((client) => setupOf(client, alone)) };
  });
}
