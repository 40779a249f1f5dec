import type { EntryType } from '../model/model.js';

/** One request of a reader. */
export type LoadQuestion = ListQuestion | NameQuestion;

interface About {
  readonly of: string;
  readonly type: EntryType;
}

export interface ListQuestion extends About {
  readonly ask: 'list';
  readonly filter: Filter;
  readonly limit?: number;
  /** The next page after this one; the cursor carries the query. */
  readonly after?: { readonly name: string; readonly version: string; readonly cursor: string };
}

export interface Filter {
  readonly search?: string;
  readonly version?: string;
  readonly updatedSince?: string;
  readonly deleted?: boolean;
}

export interface NameQuestion extends About {
  readonly ask: 'versions' | 'version';
  readonly name: string;
  /** `latest` or an exact version. */
  readonly version: string;
  readonly deleted: boolean;
}

export function pathOf(question: LoadQuestion): string {
  const { of, type } = question;
  const list = `/registry/${of}/v0.1/${type === 'server' ? 'servers' : 'x/dev.toolhive/skills'}`;
  if (question.ask === 'list') return list + queryOf(question);
  const entry = `${list}/${type === 'server' ? encodeURIComponent(question.name) : question.name}`;
  if (question.ask === 'versions')
    return `${entry}/versions${question.deleted ? '?include_deleted=true' : ''}`;
  return `${entry}/versions/${encodeURIComponent(question.version)}`;
}

function queryOf({ filter, limit, after }: ListQuestion): string {
  const query = new URLSearchParams();
  if (after) query.set('cursor', after.cursor);
  else {
    if (limit !== undefined) query.set('limit', String(limit));
    if (filter.search !== undefined) query.set('search', filter.search);
    if (filter.version !== undefined) query.set('version', filter.version);
    if (filter.updatedSince !== undefined) query.set('updated_since', filter.updatedSince);
    if (filter.deleted) query.set('include_deleted', 'true');
  }
  return query.size > 0 ? `?${query.toString()}` : '';
}

/** A label for the kind of request, to group figures. */
export function sortOf(question: LoadQuestion): string {
  if (question.ask !== 'list')
    return question.ask === 'versions'
      ? 'versions'
      : `${question.version === 'latest' ? 'latest' : 'exact'} version`;
  if (question.after) return 'further page';
  if (question.filter.search !== undefined) return 'search';
  return question.filter.updatedSince === undefined ? 'list' : 'changes';
}
