/** PostgreSQL takes no NUL in text: a name with one is in no table, and need not be queried for. */
export function hasNul(text: string): boolean {
  return text.includes('\0');
}

/** The text with U+FFFD in place of what PostgreSQL's text and jsonb do not take: NUL, and half a surrogate pair. */
export function toStorable(text: string): string {
  return text.replaceAll(/\0|\p{Surrogate}/gu, '\ufffd');
}
