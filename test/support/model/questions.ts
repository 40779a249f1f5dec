import { createHash } from 'node:crypto';
import type { Answer, ConsumerQuestion, Question } from './model.js';

type Row = Record<string, unknown>;

/** The path of the request for a question. */
export function pathOf(question: Question, prefix: string): string {
  switch (question.ask) {
    case 'me':
      return '/v1/me?claims=true';
    case 'registries':
      return '/registry';
    case 'admin sources':
      return '/v1/sources';
    case 'admin registries':
      return '/v1/registries';
    case 'source':
    case 'source entries':
      return `/v1/sources/${prefix}${question.of}${question.ask === 'source' ? '' : '/entries'}`;
    case 'registry':
    case 'registry entries':
      return `/v1/registries/${prefix}${question.of}${question.ask === 'registry' ? '' : '/entries'}`;
    default: {
      const { ask, type, name, version, deleted } = question;
      const base = `${registryPath(question, prefix)}/v0.1`;
      const list = type === 'server' ? `${base}/servers` : `${base}/x/dev.toolhive/skills`;
      const entry = `${list}/${type === 'server' ? encodeURIComponent(name) : name}`;
      const query = deleted ? '?include_deleted=true' : '';
      if (ask === 'list') return list + query;
      return ask === 'versions' ? `${entry}/versions${query}` : `${entry}/versions/${version}${query}`;
    }
  }
}

/** The registry's path, with the key if the question has one. */
export function registryPath({ of, key }: ConsumerQuestion, prefix: string): string {
  const withKey = key ? `/k/${keyOf(key === 'right' ? prefix + of : key)}` : '';
  return `/registry/${prefix}${of}${withKey}`;
}

/** Derives the key of a registry, even if the registry has none configured. */
export function keyOf(registry: string): string {
  return createHash('sha256').update(registry).digest('base64url');
}

/** A response in the model's terms, without other states' sources and registries. */
export function observed(question: Question, prefix: string, status: number, text: string): Answer {
  const body = JSON.parse(text) as Row;
  if (status !== 200) return { status, code: String(body['code']) };
  const own = (row: Row) => String(row['name']).startsWith(prefix);
  const strip = (name: unknown) => String(name).slice(prefix.length);
  const source = ({ name, kind, origin, claims }: Row) => ({ name: strip(name), kind, origin, claims });
  const registry = ({ name, sources, origin, claims, anonymous, keys }: Row) => ({
    name: strip(name),
    sources: (sources as string[]).map(strip),
    origin,
    claims,
    anonymous: (anonymous as Row | undefined)?.['claims'] ?? null,
    key: (keys as Row[] | undefined)?.[0]?.['claims'] ?? null,
  });
  switch (question.ask) {
    case 'me':
      return { status, shown: [...(body['roles'] as string[]), ...mappedClaims(body['claims'] as Row)] };
    case 'registries':
      return { status, shown: (body['registries'] as Row[]).filter(own).map(({ name }) => strip(name)) };
    case 'admin sources':
      return { status, shown: counted(body, 'sources').filter(own).map(source) };
    case 'admin registries':
      return { status, shown: counted(body, 'registries').filter(own).map(registry) };
    case 'source':
      return { status, shown: [source(body)] };
    case 'registry':
      return { status, shown: [registry(body)] };
    case 'source entries':
    case 'registry entries':
      return { status, shown: counted(body, 'entries').map(rawEntry) };
    default: {
      const listKey = question.type === 'server' ? 'servers' : 'skills';
      const rows = question.ask === 'version' ? [body] : counted(body, listKey);
      return { status, shown: rows.map(question.type === 'server' ? serverRow : skillRow) };
    }
  }
}

/** Sorts rows whose order is unspecified. */
export function sorted(question: Question, answer: Answer): Answer {
  if (!('shown' in answer) || !/entries/.test(question.ask)) return answer;
  return { ...answer, shown: answer.shown.map(ordered).sort(byText) };
}

/** The claims of a caller whose provider maps them, without the audience; empty for other callers. */
function mappedClaims(claims: Row): unknown[] {
  const named = Object.fromEntries(Object.entries(claims).filter(([key]) => key !== 'iss'));
  return 'aud' in named ? [] : [claimsInOrder(named)];
}

/** Canonical form of claims for comparison. */
export function claimsInOrder(claims: Readonly<Record<string, unknown>>): unknown {
  return Object.entries(claims)
    .map(([key, value]) => [key, ...[value].flat().map(String).sort()])
    .sort((one, other) => ((one[0] ?? '') < (other[0] ?? '') ? -1 : 1));
}

function ordered(entry: unknown): unknown {
  const { type, name, claims, versions } = entry as Row;
  return { type, name, claims, versions: [...(versions as Row[])].sort(byText) };
}

function byText(one: unknown, other: unknown): number {
  return textOf(one) < textOf(other) ? -1 : 1;
}

// Sorts members, so that equal claims have equal text.
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort())
      : member,
  );
}

function counted(body: Row, key: string): Row[] {
  const rows = body[key] as Row[];
  const { count } = body['metadata'] as Row;
  if (count !== rows.length)
    throw new Error(`${key}: metadata.count is ${String(count)}, not ${rows.length}`);
  return rows;
}

function rawEntry({ type, name, claims, versions }: Row): object {
  const shown = (versions as Row[]).map(({ version, status, isLatest }) => ({ version, status, isLatest }));
  return { type, name, claims, versions: shown };
}

function skillRow({ namespace, name, version, description }: Row): object {
  return { name: `${String(namespace)}/${String(name)}`, version, from: description };
}

function serverRow({ server, _meta }: Row): object {
  const { name, version, description } = server as Row;
  const { status, isLatest } =
    (_meta as Record<string, Row>)['io.modelcontextprotocol.registry/official'] ?? {};
  return { name, version, from: description, status, isLatest };
}
