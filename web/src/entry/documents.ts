import { answer, api } from '../api/client.js';
import type { EntryType, PluginDocument, ServerDocument, SkillDocument, Status } from '../api/types.js';
import { OFFICIAL } from '../catalogue/listed.js';

/** One version of an entry, its document as it was published. */
export interface Version {
  readonly version: string;
  readonly status: Status;
  readonly statusMessage: string | undefined;
  readonly publishedAt: string | undefined;
  readonly updatedAt: string | undefined;
  readonly isLatest: boolean;
  readonly document: ServerDocument | SkillDocument | PluginDocument;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
}

/** Every version of an entry that the caller may see, newest first. */
export async function readVersions(
  registry: string,
  type: EntryType,
  name: string,
  signal: AbortSignal,
): Promise<readonly Version[]> {
  if (type === 'server') {
    const { servers } = await answer(
      api.GET('/registry/{registry}/v0.1/servers/{name}/versions', {
        // A version that was deleted is shown as such: links to it stay good.
        params: { path: { registry, name }, query: { include_deleted: true } },
        signal,
      }),
    );
    return servers.map(({ server, _meta }) => ({
      ...stateOf(_meta[OFFICIAL]),
      version: server.version,
      document: server,
    }));
  }
  const [namespace = '', own = ''] = name.split('/');
  const params = { path: { registry, namespace, name: own } };
  const documents =
    type === 'skill'
      ? (
          await answer(
            api.GET('/registry/{registry}/v0.1/x/dev.toolhive/skills/{namespace}/{name}/versions', {
              params,
              signal,
            }),
          )
        ).skills
      : (
          await answer(
            api.GET('/registry/{registry}/v0.1/x/dev.toolhive/plugins/{namespace}/{name}/versions', {
              params,
              signal,
            }),
          )
        ).plugins;
  return documents.map((document, place) => ({
    version: document.version,
    status: document.status ?? 'active',
    statusMessage: undefined,
    publishedAt: undefined,
    updatedAt: undefined,
    isLatest: place === 0,
    document,
  }));
}

function stateOf(official: {
  status: Status;
  statusMessage?: string;
  publishedAt: string;
  updatedAt: string;
  isLatest: boolean;
}): Omit<Version, 'version' | 'document'> {
  const { status, statusMessage, publishedAt, updatedAt, isLatest } = official;
  return { status, statusMessage, publishedAt, updatedAt, isLatest };
}

/**
 * The tools that a publisher has written down beside the document: names, or definitions with a description. They stand in an
 * extension that anybody may fill as they like, so nothing of their shape is taken for granted.
 */
export function toolsOf(document: object): readonly Tool[] {
  const given = member(member(document, '_meta'), 'io.modelcontextprotocol.registry/publisher-provided');
  const found = new Map<string, Tool>();
  for (const publisher of values(given))
    for (const block of values(publisher)) {
      for (const definition of list(member(block, 'tool_definitions'))) {
        const name = member(definition, 'name');
        const description = member(definition, 'description');
        if (typeof name === 'string')
          found.set(name, { name, description: typeof description === 'string' ? description : '' });
      }
      for (const name of list(member(block, 'tools')))
        if (typeof name === 'string' && !found.has(name)) found.set(name, { name, description: '' });
    }
  const { allowedTools } = document as { allowedTools?: unknown };
  for (const name of list(allowedTools))
    if (typeof name === 'string') found.set(name, { name, description: '' });
  return [...found.values()];
}

function member(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

function values(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
