import { ClientConfig, type ServerVersion } from '../../src/client-config/client-config.js';
import { type ClientName, type ConfigForm } from '../../src/client-config/clients.js';
import type { Document } from './documents.js';

/** Returns the configuration or list with these servers and these denied versions. */
export function configOf(
  client: ClientName,
  form: ConfigForm,
  documents: readonly Document[],
  denied: readonly Document[] = [],
): Record<string, unknown> {
  const config = new ClientConfig(client, form);
  const [servers, versions] = [documents.map(versionOf), denied.map(versionOf)];
  const listed = new Set(servers.flatMap((server) => config.listedKeys(server)));
  const parts = [
    ...(config.kinds.includes('latest') ? servers.map((server) => config.of(server)) : []),
    ...(config.kinds.includes('denied') ? versions.map((version) => config.denied(version, listed)) : []),
  ];
  const all: Record<string, unknown> = {};
  for (const part of parts)
    for (const [key, value] of Object.entries(part)) all[key] = merged(all[key], value);
  return all;
}

export function versionOf(document: Document): ServerVersion {
  const { name, version } = document;
  return { name: String(name), version: String(version), document: JSON.stringify(document) };
}

function merged(one: unknown, other: unknown): unknown {
  if (Array.isArray(one)) return [...(one as unknown[]), ...(other as unknown[])];
  return typeof one === 'object' ? { ...one, ...(other as object) } : other;
}
