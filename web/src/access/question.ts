import type { Claims, EntryType } from '../api/types.js';

/** What is asked about access, as it stands in the address. */
export interface Question {
  readonly registry: string;
  readonly type: EntryType;
  /** Empty: the registry itself. */
  readonly entry: string;
  readonly action: 'see' | 'manage' | 'publish';
  /** Null: whoever asks. */
  readonly as: Claims | null;
}

export function questionOf(query: URLSearchParams): Question {
  const type = query.get('type');
  const action = query.get('action');
  return {
    registry: query.get('registry') ?? '',
    type: type === 'skill' || type === 'plugin' ? type : 'server',
    entry: query.get('entry') ?? '',
    action: action === 'manage' || action === 'publish' ? action : 'see',
    as: claimsIn(query.get('as')),
  };
}

export function queryOf({ registry, type, entry, action, as }: Question): Record<string, string> {
  return {
    registry,
    type: entry === '' || type === 'server' ? '' : type,
    entry,
    action: action === 'see' ? '' : action,
    as: as === null ? '' : JSON.stringify(as),
  };
}

function claimsIn(text: string | null): Claims | null {
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Claims) : null;
  } catch {
    return null;
  }
}
