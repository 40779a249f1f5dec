import createClient from 'openapi-fetch';
import type { FetchClient } from './generated-client.js';
import type { components, paths } from './generated/openapi.js';

type ErrorCode = components['schemas']['ErrorCode'];

const OFFICIAL = 'io.modelcontextprotocol.registry/official';
const VERSION = '/registry/{registry}/v0.1/servers/{name}/versions/{version}';

/** A TypeScript client that uses only the generated types. */
export function connect(baseUrl: string, token: string): FetchClient {
  const api = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
  return {
    async list(registry) {
      const versions: string[] = [];
      let cursor: string | undefined;
      do {
        const query = { limit: 1, include_deleted: false, ...(cursor ? { cursor } : {}) };
        const { data, error } = await api.GET('/registry/{registry}/v0.1/servers', {
          params: { path: { registry }, query },
        });
        if (error) throw new Error(error.code);
        for (const { server, _meta } of data.servers)
          versions.push(`${server.name}@${server.version} ${_meta[OFFICIAL].status}`);
        cursor = data.metadata.nextCursor;
      } while (cursor !== undefined);
      return versions;
    },

    async read(registry, name) {
      const path = { registry, name, version: 'latest' };
      const { data, response } = await api.GET(VERSION, { params: { path } });
      const header = { 'If-None-Match': response.headers.get('ETag') ?? '' };
      const again = await api.GET(VERSION, { params: { path, header } });
      return { remote: data?.server.remotes?.[0]?.url, again: again.response.status };
    },

    async publish(name, team) {
      const server = {
        name,
        description: 'Published by a generated client',
        version: '1.0.0',
        remotes: [{ type: 'streamable-http' as const, url: 'https://weather.example.com/mcp' }],
      };
      const { data, error } = await api.POST('/v1/entries', {
        body: { server, claims: { org: 'acme', team: [team] } },
      });
      if (!error) {
        if ('admission' in data) return data.admission.status;
        return data._meta[OFFICIAL].isLatest ? 'published' : 'not the latest';
      }
      const expected: readonly ErrorCode[] = ['claims_not_subset', 'version_exists'];
      if (expected.includes(error.code)) return error.code;
      throw new Error([error.error, ...(error.details ?? [])].join('\n'));
    },

    async relabel(source, team) {
      const path = { name: source };
      const { data, error, response } = await api.GET('/v1/sources/{name}', { params: { path } });
      if (error) return error.code;
      const header = { 'If-Match': response.headers.get('ETag') ?? '' };
      const body = { ...data, claims: { ...data.claims, team } };
      const put = await api.PUT('/v1/sources/{name}', { params: { path, header }, body });
      return put.error ? put.error.code : 'put';
    },
  };
}

/** Calls that must not compile. */
export async function misuse(baseUrl: string): Promise<void> {
  const api = createClient<paths>({ baseUrl });
  const named = { params: { path: { name: 'a' } } };
  // @ts-expect-error Path parameters are required.
  await api.GET('/registry/{registry}/v0.1/servers');
  // @ts-expect-error A limit is a number.
  await api.GET('/v1/sources', { params: { query: { limit: 'ten' } } });
  // @ts-expect-error A flag is a boolean.
  await api.POST('/v1/entries', { params: { query: { dry_run: 'yes' } }, body: {} });
  // @ts-expect-error Claims are strings or arrays of strings.
  await api.PUT('/v1/registries/{name}', { ...named, body: { sources: ['a'], claims: { a: 1 } } });
  // @ts-expect-error Aliases are not described.
  await api.GET('/registry/{registry}/v0/servers', { params: { path: { registry: 'main' } } });
  const { error } = await api.GET('/v1/me');
  // @ts-expect-error Unknown code.
  if (error?.code === 'no_such_code') throw new Error(error.error);
}
