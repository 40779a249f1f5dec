const MAX_LENGTH = 200;

/** Where something is in a document, for people: `packages[0].transport.url`. Numbers are indexes of arrays. */
export function pathOf(parts: readonly (string | number)[]): string {
  const path = parts.reduce<string>((above, part) => {
    if (typeof part === 'number') return `${above}[${part}]`;
    return above === '' ? part : `${above}.${part}`;
  }, '');
  // Keys may be of any length and any number of levels deep.
  return path.length > MAX_LENGTH ? `${path.slice(0, MAX_LENGTH - 3)}...` : path;
}
