import { aServer, aSkill, type Document } from './documents.js';
import type { Reply, Sender } from './http.js';
import { aService, type ServiceUnderTest } from './service.js';

export const TYPES = ['server', 'skill'] as const;
export type Type = (typeof TYPES)[number];

export const MODES = ['anonymous', 'auth-only', 'full'] as const;
export type Mode = (typeof MODES)[number];

/** The types that tests use in each mode. One is enough: a mode affects all types alike. */
export const TYPES_IN: Record<Mode, readonly Type[]> = {
  anonymous: ['server'],
  'auth-only': ['skill'],
  full: ['server'],
};

/** Expected values by mode: anonymous, auth-only, full. */
export type ByMode = readonly [anonymous: string, authOnly: string, full: string];

export function inMode(answers: ByMode, mode: Mode): string {
  return answers[MODES.indexOf(mode)] ?? '';
}

/**
 * The rows of a table that tests use in each mode; each row ends with the expected values by mode. Full mode uses all
 * rows, the other modes use the first row with each combination of values, because they share some of its rules.
 */
export function rowsIn<Row extends readonly [...unknown[], ByMode]>(
  mode: Mode,
  rows: readonly Row[],
): readonly Row[] {
  return mode === 'full'
    ? rows
    : [...new Map(rows.toReversed().map((row) => [String(row.at(-1)), row])).values()];
}

/** A service with a managed source `published` in a registry `main`. */
export function aPublishingService(mode: Mode, policy?: Document): ServiceUnderTest {
  return aService({ mode, ...(policy ? { policy } : {}) })
    .source('published', { kind: 'managed' })
    .registry('main', { sources: ['published'] });
}

let names = 0;

/** A name unique within the file. */
export function aName(namespace = 'io.acme'): string {
  names += 1;
  return `${namespace}/entry-${names}`;
}

export function aDocument(type: Type, name: string, version = '1.0.0', more: Document = {}): Document {
  return type === 'server' ? aServer(name, version, more) : aSkill(name, version, more);
}

/** The body of a publish request; undefined claims are omitted. */
export function aPublication(
  type: Type,
  name: string,
  claims?: unknown,
  version = '1.0.0',
  more: Document = {},
): Document {
  return { [type]: aDocument(type, name, version, more), claims };
}

/** An entry's path in the admin API. */
export function entryAt(type: string, name: string, below = ''): string {
  return `/v1/entries/${type}/${name.replace('/', '%2F')}${below}`;
}

/** Routes of an entry with a version 1.0.0: method, path suffix, and a valid body. */
export const ENTRY_ROUTES: readonly [method: string, below: string, body?: Document][] = [
  ['GET', ''],
  ['GET', '/claims'],
  ['GET', '/versions/1.0.0'],
  ['PUT', '/claims', { claims: { org: 'acme', team: 'platform' } }],
  ['PATCH', '/status', { status: 'deprecated' }],
  ['PATCH', '/versions/1.0.0/status', { status: 'deprecated' }],
  ['DELETE', '/versions/1.0.0'],
];

/** An entry's path in the consumer API. */
export function consumerAt(type: Type, name: string, below = '', registry = 'main'): string {
  return `${listAt(type, registry)}/${type === 'server' ? name.replace('/', '%2F') : name}${below}`;
}

/** The path of the consumer list of a type. */
export function listAt(type: Type, registry = 'main'): string {
  return `/registry/${registry}/v0.1/${type === 'server' ? 'servers' : 'x/dev.toolhive/skills'}`;
}

/** Publishes the fixture of a test. */
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

/** Ensures that an entry with these claims exists, in any mode; without claims: they were cleared. */
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

/** A caller who may do everything, in any mode, to inspect results. */
export function anyone(service: ServiceUnderTest): Sender {
  return service.as({ sub: 'observer', role: 'super-admin' });
}

/** The code of a refusal, or `ok`. */
export function outcome(reply: Reply): string {
  const { code } = (reply.json ?? {}) as { code?: string };
  return reply.status < 300 ? 'ok' : `${reply.status} ${code}`;
}

/** A body without the dates and request id that differ between equal responses. */
export function timeless(reply: Reply): string {
  return reply.text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<date>')
    .replace(/"requestId":"[^"]+"/, '"requestId":"<id>"');
}

/**
 * The database content that publishing may change, for comparison. A version is represented by the transaction that
 * wrote it, because its document may be large.
 */
export async function contentOf(service: ServiceUnderTest): Promise<unknown> {
  return service.database.query(
    `select (select json_agg(e order by e.id) from entry e) as entries,
       (select json_agg(json_build_array(v.id, v.xmin::text) order by v.id) from entry_version v) as versions,
       (select count(*) from claim_set) as "claimSets", (select json_agg(s order by s.id) from source s) as sources`,
  );
}

function done(reply: Reply, status: number): void {
  if (reply.status !== status)
    throw new Error(`The fixture could not be published: ${reply.status} ${reply.text}`);
}
