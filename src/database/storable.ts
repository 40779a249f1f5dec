/** PostgreSQL takes no NUL in text: a name with one exists nowhere, so nobody has to ask. */
export function isStorable(text: string): boolean {
  return !text.includes('\0');
}
