import { api, unwrap } from '../api/client.js';
import type { EntryType, PluginDocument, ServerDocument, SkillDocument, Status } from '../api/types.js';

const OFFICIAL = 'io.modelcontextprotocol.registry/official';

/** One version of an entry with its published document. */
export interface Version {
  readonly version: string;
  readonly status: Status;
  readonly statusMessage: string | undefined;
  readonly publishedAt: string | undefined;
  readonly updatedAt: string | undefined;
  readonly isLatest: boolean;
  readonly document: ServerDocument | SkillDocument | PluginDocument;
}

/** Reads all versions that the caller can see, newest first. */
export async function readVersions(
  registry: string,
  type: EntryType,
  name: string,
  signal: AbortSignal,
): Promise<readonly Version[]> {
  if (type === 'server') {
    const { servers } = await unwrap(
      api.GET('/registry/{registry}/v0.1/servers/{name}/versions', {
        // Includes deleted versions, so that links to them keep working.
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
  const documents = await readBareVersions(registry, type, name, signal);
  return documents.map((document, index) => ({
    version: document.version,
    status: document.status ?? 'active',
    statusMessage: undefined,
    publishedAt: undefined,
    updatedAt: undefined,
    isLatest: index === 0,
    document,
  }));
}

async function readBareVersions(
  registry: string,
  type: Exclude<EntryType, 'server'>,
  name: string,
  signal: AbortSignal,
): Promise<readonly (SkillDocument | PluginDocument)[]> {
  const [namespace = '', own = ''] = name.split('/');
  const params = { path: { registry, namespace, name: own } };
  switch (type) {
    case 'skill': {
      const path = '/registry/{registry}/v0.1/x/dev.toolhive/skills/{namespace}/{name}/versions';
      return (await unwrap(api.GET(path, { params, signal }))).skills;
    }
    case 'plugin': {
      const path = '/registry/{registry}/v0.1/x/dev.toolhive/plugins/{namespace}/{name}/versions';
      return (await unwrap(api.GET(path, { params, signal }))).plugins;
    }
  }
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
