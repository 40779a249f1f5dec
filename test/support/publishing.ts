import { aServer, aSkill, type Document } from './documents.js';
import type { Reply, Sender } from './http.js';
import { aService, type ServiceUnderTest } from './service.js';

export const TYPES = ['server', 'skill'] as const;
export type Type = (typeof TYPES)[number];

export const MODES = ['anonymous', 'auth-only', 'full'] as const;
export type Mode = (typeof MODES)[number];

/**
 * The types that a rule is asked of in each mode: all of them where claims are judged in full, and elsewhere one, since what a
 * mode changes is not about types.
 */
export const TYPES_IN: Record<Mode, readonly Type[]> = {
  anonymous: ['server'],
  'auth-only': ['skill'],
  full: TYPES,
};

/** Every value of a table of cases by mode: those in anonymous mode, in auth-only mode, and in full mode. */
export type ByMode = readonly [anonymous: string, authOnly: string, full: string];

export function inMode(answers: ByMode, mode: Mode): string {
  return answers[MODES.indexOf(mode)] ?? '';
}

/** A service with a managed source `published` in a registry `main`. */
export function aPublishingService(mode: Mode, policy?: Document): ServiceUnderTest {
  return aService({ mode, ...(policy ? { policy } : {}) })
    .source('published', { kind: 'managed' })
    .registry('main', { sources: ['published'] });
}

let names = 0;

/** A name that no other test of the file uses. */
export function aName(namespace = 'io.acme'): string {
  names += 1;
  return `${namespace}/entry-${names}`;
}

export function aDocument(type: Type, name: string, version = '1.0.0', more: Document = {}): Document {
  return type === 'server' ? aServer(name, version, more) : aSkill(name, version, more);
}

/** The body of a publish request; claims that are undefined are left out. */
export function aPublication(
  type: Type,
  name: string,
  claims?: unknown,
  version = '1.0.0',
  more: Document = {},
): Document {
  return { [type]: aDocument(type, name, version, more), claims };
}

/** Where an entry is in the admin API. */
export function entryAt(type: string, name: string, below = ''): string {
  return `/v1/entries/${type}/${name.replace('/', '%2F')}${below}`;
}

/** What may be asked of an entry with a version 1.0.0: below its path, and a body that is right. */
export const ENTRY_ROUTES: readonly [method: string, below: string, body?: Document][] = [
  ['GET', ''],
  ['GET', '/claims'],
  ['GET', '/versions/1.0.0'],
  ['PUT', '/claims', { claims: { org: 'acme', team: 'platform' } }],
  ['PATCH', '/status', { status: 'deprecated' }],
  ['PATCH', '/versions/1.0.0/status', { status: 'deprecated' }],
  ['DELETE', '/versions/1.0.0'],
];

/** Where it is for consumers. */
export function consumerAt(type: Type, name: string, below = '', registry = 'main'): string {
  return `${listAt(type, registry)}/${type === 'server' ? name.replace('/', '%2F') : name}${below}`;
}

/** Where entries of a type are listed for consumers. */
export function listAt(type: Type, registry = 'main'): string {
  return `/registry/${registry}/v0.1/${type === 'server' ? 'servers' : 'x/dev.toolhive/skills'}`;
}

/** Publishes what a test needs to be there. */
export async function publish(
  sender: Sender,
  type: Type,
  name: string,
  claims?: unknown,
  ...versions: string[]
): Promise<void> {
  for (const version of versions.length > 0 ? versions : ['1.0.0'])
    done(await sender.post('/v1/entries', aPublication(type, name, claims, version)), 201);
}

/** Makes an entry with these claims be there, in any mode; none at all: they were cleared. */
export async function seed(
  service: ServiceUnderTest,
  type: Type,
  name: string,
  claims: Document,
  ...versions: string[]
): Promise<void> {
  const isEmpty = Object.keys(claims).length === 0;
  const first = isEmpty ? { seed: 'x' } : claims;
  const seeder = service.as({ ...first, role: ['super-admin', first['role']].flat() });
  await publish(seeder, type, name, first, ...versions);
  if (isEmpty) done(await seeder.put(entryAt(type, name, '/claims'), { claims: {} }), 204);
}

/** Somebody who may do everything, in any mode: here to look at what happened. */
export function anyone(service: ServiceUnderTest): Sender {
  return service.as({ sub: 'observer', role: 'super-admin' });
}

/** How a request went, in one word: the code of a refusal, or `ok`. */
export function outcome(reply: Reply): string {
  const { code } = (reply.json ?? {}) as { code?: string };
  return reply.status < 300 ? 'ok' : `${reply.status} ${code}`;
}

/** A body without what differs between two equal answers: dates, and the id of the request. */
export function timeless(reply: Reply): string {
  return reply.text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<date>')
    .replace(/"requestId":"[^"]+"/, '"requestId":"<id>"');
}

/** What publishing may change in the database, to compare. */
export async function contentOf(service: ServiceUnderTest): Promise<unknown> {
  return service.database.query(
    `select (select json_agg(e order by e.id) from entry e) as entries,
       (select json_agg(v order by v.id) from entry_version v) as versions,
       (select count(*) from claim_set) as "claimSets", (select json_agg(s order by s.id) from source s) as sources`,
  );
}

function done(reply: Reply, status: number): void {
  if (reply.status !== status) throw new Error(`Preparing a test failed: ${reply.status} ${reply.text}`);
}
