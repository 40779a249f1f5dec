import { answer, answerWithTag, api } from '../api/client.js';
import type { Registry, RegistrySettings } from '../api/types.js';

/** A registry as it is stored, and the tag that a change of it is held to. */
export interface StoredRegistry {
  readonly registry: Registry;
  readonly etag: string | null;
}

export async function readRegistry(name: string, signal: AbortSignal): Promise<StoredRegistry> {
  const { value, etag } = await answerWithTag(
    api.GET('/v1/registries/{name}', { params: { path: { name } }, signal }),
  );
  return { registry: value, etag };
}

/** What a PUT takes of what a GET gave. */
export function settingsOf({ sources, claims, anonymous, keys, publishClaims }: Registry): RegistrySettings {
  return { sources, claims, anonymous, keys, publishClaims };
}

/** @param etag of what it replaces; null: nothing, it is made. */
export async function putRegistry(name: string, etag: string | null, body: RegistrySettings): Promise<void> {
  const header = etag === null ? { 'If-None-Match': '*' as const } : { 'If-Match': etag };
  await answer(api.PUT('/v1/registries/{name}', { params: { path: { name }, header }, body }));
}
