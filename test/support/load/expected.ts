import { compare } from 'semver';
import { answer } from '../model/reference.js';
import type { ModelState } from '../model/model.js';
import { serverSummary } from './answer.js';
import type { StoredVersion } from './catalogue.js';
import type { Filter, ListQuestion, LoadQuestion } from './questions.js';

/** A row of the reference model with its stored version. */
interface Row {
  readonly name: string;
  readonly version: string;
  readonly isLatest: boolean;
  readonly stored: StoredVersion;
}

const SERVERS_PER_PAGE = 30;
const SKILLS_PER_PAGE = 50;

/** The reference model's response to callers of this sort in this state, as an `Answer.summary`. */
export function expected(state: ModelState, sort: number, question: LoadQuestion): string {
  const shown = rows(state, sort, question);
  if (typeof shown === 'string') return shown;
  const page = question.ask === 'list' ? pageOf(shown, question) : { rows: shown, goesOn: false };
  return ['200', ...page.rows.map((row) => summary(row, question)), ...(page.goesOn ? ['more'] : [])].join(
    '\n',
  );
}

function rows(state: ModelState, sort: number, question: LoadQuestion): Row[] | string {
  const isList = question.ask === 'list';
  const { of, type, ask } = question;
  const named = isList ? { name: '', version: '', deleted: true } : question;
  const reply = answer(state, { by: sort, ask, of, type, ...named, name: named.name });
  if (!('shown' in reply)) return `${reply.status} ${reply.code}`;
  return (reply.shown as Shown[]).map(({ name, version, from, isLatest }) => {
    const stored = documentsOf(state).get(`${from} ${type} ${name} ${version}`);
    if (!stored) throw new Error(`${name}@${version} is not in ${from}`);
    // The reference model lists only a skill's latest version.
    return { name, version, isLatest: isLatest ?? true, stored };
  });
}

interface Shown {
  readonly name: string;
  readonly version: string;
  readonly from: string;
  readonly isLatest?: boolean;
}

// Independent implementation of reference/catalog: filters, order, page.
function pageOf(all: readonly Row[], { filter, after, limit, type }: ListQuestion) {
  const from = after && all.filter((row) => isAfter(row, after));
  const left = (from ?? all).filter((row) => passes(row, filter, type === 'server'));
  const size = limit ?? (type === 'server' ? SERVERS_PER_PAGE : SKILLS_PER_PAGE);
  return { rows: left.slice(0, size), goesOn: left.length > size };
}

function isAfter(row: Row, { name, version }: { name: string; version: string }): boolean {
  return row.name > name || (row.name === name && compare(row.version, version) < 0);
}

function passes(row: Row, filter: Filter, isServer: boolean): boolean {
  const { version, isLatest, stored } = row;
  const { search, updatedSince } = filter;
  return (
    (filter.deleted || updatedSince !== undefined || stored.status !== 'deleted') &&
    (search === undefined || isFound(row, search)) &&
    (!isServer ||
      filter.version === undefined ||
      (filter.version === 'latest' ? isLatest : version === filter.version)) &&
    (updatedSince === undefined ||
      [stored.updatedAt, stored.claimsChangedAt].some(
        (at) => Date.parse(at || '1970') >= Date.parse(updatedSince),
      ))
  );
}

function isFound({ name, stored }: Row, search: string): boolean {
  const { description } = JSON.parse(stored.document) as { description: string };
  return [name, description].some((text) => text.toLowerCase().includes(search.toLowerCase()));
}

function summary({ isLatest, stored }: Row, { type }: LoadQuestion): string {
  return type === 'server' ? serverSummary(stored.document, stored.status, isLatest) : stored.document;
}

/** Reads are sorted by time and each has few possible states: the index by name is cached for this many. */
const STATES_KEPT = 8;
const known = new Map<ModelState, Map<string, StoredVersion>>();

function documentsOf(state: ModelState): Map<string, StoredVersion> {
  const kept = known.get(state);
  if (kept) return kept;
  const all = new Map<string, StoredVersion>();
  for (const source of state.sources)
    for (const { type, name, versions } of source.entries)
      for (const stored of versions as readonly StoredVersion[])
        all.set(`${source.name} ${type} ${name} ${stored.version}`, stored);
  const [oldest] = known.keys();
  if (oldest && known.size >= STATES_KEPT) known.delete(oldest);
  known.set(state, all);
  return all;
}
