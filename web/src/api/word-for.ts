/** The word of a table for what somebody else has named; only what stands in the table, not what every object inherits. */
export function wordFor<T>(words: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(words, name) ? words[name] : undefined;
}
