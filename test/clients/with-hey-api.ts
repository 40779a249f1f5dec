import type { Sdk } from './generated-client.js';
import { getServerVersion, listSkills, listSources, syncSource } from './generated/sdk/index.js';
import { createClient } from './generated/sdk/client/index.js';

/** The generated functions have the names of the operations. */
export function connect(baseUrl: string, token: string): Sdk {
  const client = createClient({ baseUrl, auth: token });
  return {
    async ask(registry) {
      const named = { registry, name: 'io.acme/forecast', version: 'latest' };
      const server = await getServerVersion({ client, path: named });
      const skills = await listSkills({ client, path: { registry }, query: { status: 'active', limit: 10 } });
      const sources = await listSources({ client });
      const sync = await syncSource({ client, path: { name: 'published' } });
      return [
        server.data?.server.version ?? String(server.error?.code),
        ...(skills.data?.skills.map(({ name, status = 'active' }) => `${name} ${status}`) ?? []),
        ...(sources.data?.sources ?? [])
          .filter(({ origin }) => origin === 'config')
          .map(({ name, kind }) => `${name} ${kind}`),
        sync.error?.code ?? 'synced',
      ];
    },
  };
}
