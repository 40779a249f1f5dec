/** The example publication, visible to pia's team. A single quote in it would end the shell's string. */
export const FIRST_PUBLICATION = {
  server: {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: 'com.example.platform/hello',
    description: 'Says hello',
    version: '1.0.0',
    remotes: [{ type: 'streamable-http', url: 'https://hello.example.com/mcp' }],
  },
  claims: { org: 'acme', team: 'platform' },
} as const;
