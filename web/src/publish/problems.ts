import type { Failure } from '../api/failure.js';
import type { EntryType } from '../api/types.js';
import type { Mark } from './document-editor.js';
import { lineOf, type Lines, type Parsed } from './json-lines.js';

/** What is wrong with a document that is typed: at its lines, and what has none, such as its claims. */
export interface Problems {
  readonly marks: readonly Mark[];
  readonly others: readonly string[];
}

/** @param parsed undefined: nothing is typed. */
export function problemsOf(
  parsed: Parsed | undefined,
  failure: Failure | undefined,
  type: EntryType,
): Problems {
  if (!parsed) return { marks: [], others: [] };
  if (!('value' in parsed)) return { marks: [parsed], others: [] };
  const details = failure?.details ?? [];
  const found = details.map((detail) => [detail, markOf(parsed.lines, detail, type)] as const);
  return {
    marks: found.flatMap(([, mark]) => mark ?? []),
    others: found.flatMap(([detail, mark]) => (mark ? [] : [detail])),
  };
}

/** `server.remotes[0].url: is required` → the line of `remotes[0]`. */
function markOf(lines: Lines, detail: string, type: EntryType): Mark | undefined {
  const [, path, message] = /^([\w$.[\]/-]+?): (.*)$/s.exec(detail) ?? [];
  if (path === undefined || message === undefined || !isBelow(path, type)) return undefined;
  const inside = path.slice(type.length).replace(/^\./, '');
  const line = lineOf(lines, inside);
  return { line, message: inside === '' ? message : `${inside.split('.').at(-1) ?? ''} ${message}` };
}

function isBelow(path: string, type: EntryType): boolean {
  return path === type || path.startsWith(`${type}.`) || path.startsWith(`${type}[`);
}
