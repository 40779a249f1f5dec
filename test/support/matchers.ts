import { expect } from 'vitest';
import type { Reply, Sender } from './http.js';
import { findSecrets } from './secrets.js';

interface Listed {
  servers: { server: { name: string; version: string } }[];
  metadata: { count: number; nextCursor?: string };
}

/**
 * Checks a refusal: status, code, body shape, equal request ids in body and header, and that it leaks no
 * secret.
 */
export function expectRefused(reply: Reply, status: number, code: string): void {
  const isText = String(reply.headers['content-type']).startsWith('text/plain');
  const body: Record<string, unknown> = (isText ? refusalInText(reply.text) : reply.json) ?? {};
  const leaked = findSecrets(`${reply.text}${JSON.stringify(reply.headers)}`);
  expect({ status: reply.status, code: body['code'], leaked }).toEqual({ status, code, leaked: [] });
  expect(body['error']).toEqual(expect.stringMatching(/\w+ \w+/));
  expect(body['requestId']).toBe(reply.headers['x-request-id']);
}

/** Reads a refusal below `/git/`: its sentences, then its code and request. */
function refusalInText(text: string): Record<string, unknown> {
  return { .../^(?<error>.+)\n(?<code>\w+), request (?<requestId>\S+)\n$/s.exec(text)?.groups };
}

/** Seconds from the start of the last run of source `main` to its next run. */
export async function pauseInSeconds(sender: Sender): Promise<number> {
  const { sync } = (await sender.get('/v1/sources/main')).json as {
    sync: { lastAttemptAt: string; nextRunAt: string };
  };
  return (Date.parse(sync.nextRunAt) - Date.parse(sync.lastAttemptAt)) / 1_000;
}

/** `name@version` of each server in a list. */
export function versionsIn(reply: Reply): string[] {
  expect(reply.status).toBe(200);
  const { servers } = reply.json as Listed;
  return servers.map(({ server }) => `${server.name}@${server.version}`);
}

/** The cursor of the next page, if any. */
export function cursorIn(reply: Reply): string | undefined {
  return (reply.json as Listed).metadata.nextCursor;
}

/**
 * The response text without a registry's sources: all callers who see a registry see all its source names.
 */
export function withoutSources(reply: Reply): string {
  return reply.text.replaceAll(/"sources":\["[^\]]*\]/g, '');
}

const METADATA = 'https://registry.example.com/.well-known/oauth-protected-resource';

interface Challenge {
  /** Absent: no token was sent, and the challenge has no `error`. */
  error?: 'invalid_token';
  /** Code of the response; derived from `error` when absent. */
  code?: 'claims_incomplete';
  realm?: string;
  metadata?: string;
}

/** Checks a 401: the error, and the challenge of reference/authentication. */
export function expectChallenge(reply: Reply, expected: Challenge = {}): void {
  const { error, realm = 'mcp-registry', metadata = METADATA } = expected;
  expectRefused(reply, 401, expected.code ?? (error ? 'token_invalid' : 'token_missing'));
  const challenge = String(reply.headers['www-authenticate']);
  const description = /error_description="([\x20-\x7e]+?)"/.exec(challenge)?.[1];
  expect(description === undefined).toBe(error === undefined);
  const refusal = error ? `, error="${error}", error_description="${description}"` : '';
  expect(challenge).toBe(`Bearer realm="${realm}"${refusal}, resource_metadata="${metadata}"`);
}
