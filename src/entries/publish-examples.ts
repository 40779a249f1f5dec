import type { EntryType } from '../documents/entry-types.js';
import type { PublishBody } from './entries.dto.js';

/** Bodies of `POST /v1/entries`, one of each type. */
export const PUBLISH_EXAMPLES: Record<EntryType, { summary: string; value: PublishBody }> = {
  server: {
    summary: 'A server',
    value: {
      server: {
        $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
        name: 'io.github.example/weather',
        description: 'Forecasts and warnings for any place',
        version: '1.2.0',
        remotes: [{ type: 'streamable-http', url: 'https://weather.example.com/mcp' }],
      },
      claims: { org: 'acme', team: ['platform'] },
    },
  },
  skill: {
    summary: 'A skill',
    value: {
      skill: {
        namespace: 'io.github.example',
        name: 'code-review',
        description: 'Reviews a change for faults before it is merged',
        version: '1.0.0',
        packages: [
          { registryType: 'git', url: 'https://github.com/example/skills', subfolder: 'code-review' },
        ],
      },
      claims: { org: 'acme', team: ['platform'] },
    },
  },
  plugin: {
    summary: 'A plugin',
    value: {
      plugin: {
        namespace: 'io.github.example',
        name: 'code-review',
        description: 'Commands and skills for reviews',
        version: '1.0.0',
        packages: [{ registryType: 'oci', identifier: 'ghcr.io/example/code-review:1.0.0' }],
      },
      claims: { org: 'acme', team: ['platform'] },
    },
  },
};
