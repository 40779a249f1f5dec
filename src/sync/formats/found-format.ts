import { topLevelMembers } from '../../json/json-members.js';
import { parseShallow } from '../../json/json-text.js';
import { isObject, member } from '../../json/json-values.js';
import { FormatError, type JsonFormat } from './source-content.js';

/** Larger files are not parsed to find out which other format they may have. */
const MAX_PARSED_BYTES = 1024 * 1024;
const MAX_PARSED_DEPTH = 100;
/** How many bytes are searched for leading white space and for the signs of YAML and HTML. */
const BEGINNING_BYTES = 64 * 1024;

/**
 * Returns the format of a JSON file, based on the members of its outermost object; null if no format fits.
 *
 * @throws FormatError if the file has an unsupported format, with advice.
 */
export function findFormat(text: Buffer): JsonFormat | null {
  const beginning = text.toString('utf8', 0, BEGINNING_BYTES).trimStart();
  if (beginning.startsWith('[')) return 'servers';
  const other = notJson(beginning);
  if (other !== null) throw new FormatError(`The file is not valid JSON: ${other}`);
  const first = new Map<string, string>();
  for (const [key, character] of topLevelMembers(text)) {
    first.set(key, character);
    const format = formatOf(first);
    if (format !== null) return format;
  }
  if (isServer(first)) return 'servers';
  const foreign = foreignFormat(text, first);
  if (foreign !== null) throw new FormatError(foreign);
  return null;
}

/** @param first the first character of each member's value. */
function formatOf(first: ReadonlyMap<string, string>): JsonFormat | null {
  if (first.has('data')) return 'registry';
  if (first.get('servers') === '[') return 'servers';
  const isNamed = first.get('name') === '"' || first.has('owner');
  return first.get('plugins') === '[' && isNamed ? 'marketplace' : null;
}

/** Returns whether the members are those of one server document, bare or in a response of the registry API. */
function isServer(first: ReadonlyMap<string, string>): boolean {
  if (first.get('server') === '{') return true;
  const isNamed = first.get('name') === '"';
  const isDescribed = first.get('description') === '"' && first.get('version') === '"';
  return isNamed && (isDescribed || first.get('packages') === '[' || first.get('remotes') === '[');
}

function notJson(beginning: string): string | null {
  if (beginning === '') return 'it is empty';
  if (beginning.startsWith('<'))
    return 'it is HTML or XML, perhaps a login or error page; use the address of the file itself';
  if (/^[{"]/.test(beginning) || !/^(?:---|%YAML|#|[\w.$"'/-]+\s*:(?:\s|$))/m.test(beginning)) return null;
  return /^registry:\s*$/m.test(beginning)
    ? `it is ${DOCKER_CATALOG}`
    : 'it is YAML, which is not supported; convert it to JSON';
}

export const DOCKER_CATALOG =
  "Docker's MCP catalog, which is not supported; use the registry that its servers come from, or write a server.json for " +
  'each that you need';

/** Returns the sentence about a well-known file with servers in another format, or null. */
function foreignFormat(text: Buffer, first: ReadonlyMap<string, string>): string | null {
  if (first.get('mcpServers') === '{' || first.get('mcp') === '{')
    return `The file is ${CLIENT_CONFIGURATION}`;
  if (first.get('registry') === '{') return `The file is ${DOCKER_CATALOG}`;
  const isLegacy = ['servers', 'remote_servers', 'groups'].some((key) => first.has(key));
  if (!isLegacy) return null;
  return configuresClient(text) ? `The file is ${CLIENT_CONFIGURATION}` : LEGACY_FORMAT;
}

/** Also used for repositories. */
export const CLIENT_CONFIGURATION =
  'the configuration of a client (mcp.json), which says how one person starts servers. ' +
  'Write a server.json for each server, and put them in a list';

const LEGACY_FORMAT =
  'This looks like the legacy ToolHive registry format (top-level servers, remote_servers or groups). ' +
  'Convert it to the current registry format, which has version, meta and data.servers';

/** Returns whether a server in the object `servers` has a command or a URL, as in the configuration of VS Code. */
function configuresClient(text: Buffer): boolean {
  if (text.length > MAX_PARSED_BYTES) return false;
  const servers = member(parseShallow(text, MAX_PARSED_DEPTH), 'servers');
  return (
    isObject(servers) &&
    Object.values(servers).some((server) =>
      ['command', 'url'].some((key) => typeof member(server, key) === 'string'),
    )
  );
}
