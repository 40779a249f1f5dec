import { ClientConfig, type ClientName, type ConfigForm } from '../../src/client-config/client-config.js';
import type { Document } from './documents.js';

/** Returns the configuration or allow-list with these servers. */
export function configOf(
  client: ClientName,
  form: ConfigForm,
  documents: readonly Document[],
): Record<string, unknown> {
  const config = new ClientConfig(client, form);
  const all: Record<string, unknown> = {};
  for (const document of documents) {
    const server = { name: String(document['name']), version: String(document['version']) };
    for (const [key, value] of Object.entries(config.of({ ...server, document: JSON.stringify(document) })))
      all[key] = merged(all[key], value);
  }
  return all;
}

function merged(one: unknown, other: unknown): unknown {
  if (Array.isArray(one)) return [...(one as unknown[]), ...(other as unknown[])];
  return typeof one === 'object' ? { ...one, ...(other as object) } : other;
}
