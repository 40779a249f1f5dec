/** A match of this length is a leak, not a coincidence. */
const PIECE = 16;
/** Half a piece: every piece contains a gram that starts at a multiple of this length. */
const GRAM = PIECE / 2;
const STRIDE = PIECE - GRAM + 1;

const secrets = new Set<string>();
/** The secret parts of tokens. */
const parts = new Set<string>();
const grams = new Set<string>();

/** Registers a value that must never be written: tokens, client secrets, bearer tokens for providers. */
export function keepSecret(value: string): string {
  // Token headers are alike and not secret; payload and signature are.
  const [, ...secretParts] = value
    .split('.')
    .filter((part, index) => index === 0 || /^[\w-]{16,}$/.test(part));
  for (const part of secretParts) {
    parts.add(part);
    for (let at = 0; at + GRAM <= part.length; at += 1) grams.add(part.slice(at, at + GRAM));
  }
  // A token's parts also cover the whole token.
  if (secretParts.length === 0 && value.length >= PIECE) secrets.add(value);
  return value;
}

/** Secrets of one file do not apply to the next. */
export function forgetSecrets(): void {
  for (const kept of [secrets, parts, grams]) kept.clear();
}

/** The registered secrets, and pieces of tokens, in a text. */
export function findSecrets(text: string): string[] {
  const found = new Set([...secrets].filter((secret) => text.includes(secret)));
  if (grams.size === 0) return [...found];
  for (const [run] of text.matchAll(/[\w-]{16,}/g))
    for (let at = 0; at + GRAM <= run.length; at += STRIDE)
      if (grams.has(run.slice(at, at + GRAM)))
        for (const piece of piecesAround(run, at)) if (isSecretPiece(piece)) found.add(piece);
  return [...found];
}

function piecesAround(run: string, at: number): string[] {
  const starts = Array.from({ length: STRIDE }, (_, before) => at - before);
  return starts
    .filter((start) => start >= 0 && start + PIECE <= run.length)
    .map((start) => run.slice(start, start + PIECE));
}

function isSecretPiece(piece: string): boolean {
  return [...parts].some((part) => part.includes(piece));
}
