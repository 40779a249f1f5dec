import { LRUCache } from 'lru-cache';

/** Statements are few and long: each is cleaned once. */
const MAX_KNOWN = 500;
const MAX_LENGTH = 4_000;

const known = new LRUCache<string, string>({ max: MAX_KNOWN });

/**
 * A statement without its literals: strings, dollar-quoted ones too, and numbers become `?`; comments go. What is passed as a
 * parameter (`$1`) is not in the text at all. https://opentelemetry.io/docs/specs/semconv/db/database-spans/#sanitization-of-dbquerytext
 */
export function withoutLiterals(statement: string): string {
  const before = known.get(statement);
  if (before !== undefined) return before;
  const text = statement
    .slice(0, 4 * MAX_LENGTH)
    .replaceAll(LITERALS, (found) =>
      /^(--|\/\*)/.test(found) ? ' ' : /^["$]\d*$|^"/.test(found) ? found : '?',
    )
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, MAX_LENGTH);
  known.set(statement, text);
  return text;
}

/** Comments, quoted names, parameters, strings and numbers, whichever comes first; one that is cut off reaches to the end. */
const LITERALS =
  /--[^\n]*|\/\*[^]*?(?:\*\/|$)|"(?:[^"]|"")*(?:"|$)|\$\d+|(\$\w*\$)[^]*?(?:\1|$)|(?:\b[exb]|\bu&)?'(?:[^'\\]|''|\\[^])*(?:'|$)|(?<![\w$.])\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?\b/gi;
