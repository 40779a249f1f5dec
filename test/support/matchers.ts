import { expect } from 'vitest';
import type { Reply } from './http.js';

interface Listed {
  servers: { server: { name: string; version: string } }[];
  metadata: { count: number; nextCursor?: string };
}

/** Checks a refusal whole: status, code, the shape of the body, and the id in body and header alike. */
export function expectRefused(reply: Reply, status: number, code: string): void {
  const body: Record<string, unknown> = reply.json ?? {};
  expect({ status: reply.status, code: body['code'] }).toEqual({ status, code });
  expect(body['error']).toEqual(expect.stringMatching(/\w+ \w+/));
  expect(body['requestId']).toBe(reply.headers['x-request-id']);
}

/** `name@version` of each row of a server list. */
export function versionsIn(reply: Reply): string[] {
  expect(reply.status).toBe(200);
  const { servers } = reply.json as Listed;
  return servers.map(({ server }) => `${server.name}@${server.version}`);
}

/** The cursor of the next page, if there is one. */
export function cursorIn(reply: Reply): string | undefined {
  return (reply.json as Listed).metadata.nextCursor;
}
