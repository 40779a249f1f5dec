import type { SourceKind } from './kinds.js';
import type { SourceSettings } from './source-settings.dto.js';

/** Bodies of `PUT /v1/sources/{name}`: one of each kind, and a file behind a URL. */
export const SOURCE_EXAMPLES: Record<SourceKind | 'url', { summary: string; value: SourceSettings }> = {
  file: {
    summary: 'A file on the machine of the server, below its adminFileRoot',
    value: {
      file: { path: 'registry.json' },
      syncPolicy: { interval: '30m' },
      claims: { org: 'acme' },
    },
  },
  url: {
    summary: 'A file behind a URL',
    value: {
      file: { url: 'https://catalogues.example.com/registry.json' },
      syncPolicy: { interval: '1h' },
      filter: { names: { include: ['io.github.acme/*'], exclude: ['*-internal'] } },
      claims: { org: 'acme' },
    },
  },
  git: {
    summary: 'A file in a Git repository',
    value: {
      git: { repository: 'https://github.com/acme/catalogue.git', branch: 'main', path: 'registry.json' },
      syncPolicy: { interval: '30m' },
      claims: { org: 'acme', team: ['platform', 'data'] },
    },
  },
  api: {
    summary: 'Another MCP registry',
    value: {
      api: { endpoint: 'https://registry.modelcontextprotocol.io', timeout: '10s' },
      syncPolicy: { interval: '6h' },
      filter: { tags: { include: ['official'] } },
    },
  },
  managed: {
    summary: 'What publishers send; names that begin with com.acme are for the platform team',
    value: {
      managed: { names: [{ include: ['com.acme/*'], claims: { org: 'acme', team: 'platform' } }] },
      claims: { org: 'acme' },
    },
  },
  kubernetes: {
    summary: "ToolHive's resources in a cluster",
    value: { kubernetes: { namespaces: ['mcp-servers'] }, claims: { org: 'acme' } },
  },
};
