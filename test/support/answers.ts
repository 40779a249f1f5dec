import { expect } from 'vitest';
import type { Reply } from './http.js';
import { expectRefused } from './matchers.js';

/** `200`, or `403 role_required` for a refusal, whose body is fully checked. */
export function outcomeOf(reply: Reply): string {
  if (reply.status < 400) return String(reply.status);
  const code = String((reply.json as { code?: unknown } | undefined)?.code);
  expectRefused(reply, reply.status, code);
  return `${reply.status} ${code}`;
}

/** Repeats a request while the server is too busy for it, like a client: a slow machine refuses some requests. */
export async function unlessBusy(send: () => Promise<Reply>): Promise<Reply> {
  for (;;) {
    const reply = await send();
    if (reply.status !== 503) return reply;
    expect(['503 overloaded', '503 search_too_broad', '503 database_timeout']).toContain(outcomeOf(reply));
  }
}

interface Listing {
  servers: { server: { name: string } }[];
  skills: { namespace: string; name: string }[];
  sources: { name: string }[];
  registries: { name: string }[];
  entries: AdminEntry[];
  metadata: { count: number; nextCursor?: string };
}

export interface AdminEntry {
  type: string;
  name: string;
  claims: Record<string, unknown>;
  versions: { version: string; status: string; isLatest: boolean; publishedAt: string }[];
}

/** The names in a server list, without duplicates, in order; the count must match. */
export function serversIn(reply: Reply): string[] {
  const { servers, metadata } = listing(reply);
  expect(metadata.count).toBe(servers.length);
  return [...new Set(servers.map(({ server }) => server.name))];
}

/** The names in a skill list, in order; the count must match. */
export function skillsIn(reply: Reply): string[] {
  const { skills, metadata } = listing(reply);
  expect(metadata.count).toBe(skills.length);
  return skills.map(({ namespace, name }) => `${namespace}/${name}`);
}

/** The names in an admin list of sources, sorted. */
export function sourcesIn(reply: Reply): string[] {
  const { sources, metadata } = listing(reply);
  expect(metadata.count).toBe(sources.length);
  return sources.map(({ name }) => name).sort();
}

/** The names in an admin list of registries, sorted. */
export function registriesIn(reply: Reply): string[] {
  const { registries, metadata } = listing(reply);
  expect(metadata.count).toBe(registries.length);
  return registries.map(({ name }) => name).sort();
}

/** The names in `GET /registry`, in order. */
export function openRegistriesIn(reply: Reply): string[] {
  return listing(reply).registries.map(({ name }) => name);
}

/** The entries of an admin list, by name. */
export function entriesIn(reply: Reply): AdminEntry[] {
  const { entries, metadata } = listing(reply);
  expect(metadata.count).toBe(entries.length);
  return entries.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function listing(reply: Reply): Listing {
  expect(reply.status).toBe(200);
  return reply.json;
}
