import { elements, member } from '../json/json-values.js';
import { textMember } from './template.js';

const REMOTES = new Set(['streamable-http', 'sse']);

/**
 * Returns whether `thv run NAME` can run a server of a registry: ToolHive connects to remotes and starts OCI images, also
 * those that listen on a port (https://docs.stacklok.com/toolhive/guides-cli/run-mcp-servers).
 */
export function runsInToolHive(document: unknown): boolean {
  return (
    elements(member(document, 'remotes')).some((remote) => REMOTES.has(textMember(remote, 'type') ?? '')) ||
    elements(member(document, 'packages')).some((each) => textMember(each, 'registryType') === 'oci')
  );
}
