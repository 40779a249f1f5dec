/** Whoever finds this much of a token, in one piece, has found part of it and no accident. */
const PIECE = 16;
/** Half of a piece: in each, one of them begins at every ninth place of the text around it. */
const GRAM = PIECE / 2;
const STRIDE = PIECE - GRAM + 1;

const secrets = new Set<string>();
/** What tokens tell, and all grams of it. */
const parts = new Set<string>();
const grams = new Set<string>();

/** Remembers what must never be written anywhere: tokens, client secrets, bearer tokens for providers. */
export function keepSecret(value: string): string {
  // Headers of tokens look alike and tell nothing; payload and signature do.
  const [, ...told] = value.split('.').filter((part, index) => index === 0 || /^[\w-]{16,}$/.test(part));
  for (const part of told) {
    parts.add(part);
    for (let at = 0; at + GRAM <= part.length; at += 1) grams.add(part.slice(at, at + GRAM));
  }
  // Whoever writes all of a token has written its parts.
  if (told.length === 0 && value.length >= PIECE) secrets.add(value);
  return value;
}

/** Those of one file are nobody's secret in the next. */
export function forgetSecrets(): void {
  for (const kept of [secrets, parts, grams]) kept.clear();
}

/** The secrets, and the pieces of tokens, that a text holds. */
export function findSecrets(text: string): string[] {
  const found = new Set([...secrets].filter((secret) => text.includes(secret)));
  for (const [run] of text.matchAll(/[\w-]{16,}/g))
    for (let at = 0; at + GRAM <= run.length; at += STRIDE)
      if (grams.has(run.slice(at, at + GRAM)))
        for (const piece of piecesAround(run, at)) if (isTold(piece)) found.add(piece);
  return [...found];
}

function piecesAround(run: string, at: number): string[] {
  const starts = Array.from({ length: STRIDE }, (_, before) => at - before);
  return starts
    .filter((start) => start >= 0 && start + PIECE <= run.length)
    .map((start) => run.slice(start, start + PIECE));
}

function isTold(piece: string): boolean {
  return [...parts].some((part) => part.includes(piece));
}
