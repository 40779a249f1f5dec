/** Whoever finds this much of a token, in one piece, has found part of it and no accident. */
const PIECE = 16;

const secrets = new Set<string>();
const pieces = new Set<string>();

/** Remembers what must never be written anywhere: tokens, client secrets, bearer tokens for providers. */
export function keepSecret(value: string): string {
  if (value.length >= PIECE) secrets.add(value);
  // Headers of tokens look alike and tell nothing; payload and signature do.
  const [, ...told] = value.split('.');
  for (const part of told)
    for (let start = 0; start + PIECE <= part.length; start++) pieces.add(part.slice(start, start + PIECE));
  return value;
}

/** Those of one file are nobody's secret in the next. */
export function forgetSecrets(): void {
  secrets.clear();
  pieces.clear();
}

/** The secrets, and the pieces of tokens, that a text holds. */
export function findSecrets(text: string): string[] {
  const found = new Set([...secrets].filter((secret) => text.includes(secret)));
  for (const [run] of text.matchAll(/[\w-]{16,}/g))
    for (let start = 0; start + PIECE <= run.length; start++) {
      const piece = run.slice(start, start + PIECE);
      if (pieces.has(piece)) found.add(piece);
    }
  return [...found];
}
