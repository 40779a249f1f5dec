import { answer, api } from '../api/client.js';
import { type Listed, listedDocument, listedServer, type Narrowing } from './listed.js';

export interface Page {
  readonly items: readonly Listed[];
  readonly next: string | undefined;
}

const PER_PAGE = 100;

/** One page of a list of the consumer API, as it answers this caller. */
export async function readPage(
  registry: string,
  { type, search, status }: Narrowing,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Page> {
  const path = { registry };
  const common = {
    limit: PER_PAGE,
    ...(search === '' ? {} : { search }),
    ...(cursor === undefined ? {} : { cursor }),
  };
  if (type === 'server') {
    const deleted = status === 'deleted' ? { include_deleted: true } : {};
    const query = { ...common, version: 'latest', ...deleted };
    const { servers, metadata } = await answer(
      api.GET('/registry/{registry}/v0.1/servers', { params: { path, query }, signal }),
    );
    return { items: servers.map(listedServer), next: metadata.nextCursor };
  }
  const query = {
    ...common,
    ...(status === '' || status === 'deleted' ? {} : { status: status as 'active' }),
  };
  if (type === 'skill') {
    const { skills, metadata } = await answer(
      api.GET('/registry/{registry}/v0.1/x/dev.toolhive/skills', { params: { path, query }, signal }),
    );
    return { items: skills.map((skill) => listedDocument('skill', skill)), next: metadata.nextCursor };
  }
  const { plugins, metadata } = await answer(
    api.GET('/registry/{registry}/v0.1/x/dev.toolhive/plugins', { params: { path, query }, signal }),
  );
  return { items: plugins.map((plugin) => listedDocument('plugin', plugin)), next: metadata.nextCursor };
}
