const MAX_NAME = 64;

/** Returns a name that the schema of skills and plugins accepts; undefined if the result is too short or too long. */
export function documentNameOf(text: string): string | undefined {
  const name = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  return name.length >= 2 && name.length <= MAX_NAME ? name : undefined;
}

/** Returns why a skill or plugin cannot have this name. */
export function nameProblem(path: string, given: unknown): string {
  if (typeof given !== 'string' || given === '') return `${path}: is required`;
  return `${path}: must leave 2 to ${MAX_NAME} lower-case letters, digits and hyphens`;
}

/** Cuts text at a limit of characters, at the end of a word if there is one, and ends it with `…`. */
export function cutAtWord(text: string, limit: number): string {
  const characters = [...text.slice(0, 2 * limit + 2)];
  if (characters.length <= limit) return text;
  const kept = characters.slice(0, limit).join('');
  const word = /^(.*\S)\s/su.exec(kept)?.[1];
  return `${word ?? characters.slice(0, limit - 1).join('')}…`;
}

/** The limit in the schema of skills and plugins. */
const MAX_DESCRIPTION = 1_024;

/** Returns a description in the form used in documents; undefined if there is none. */
export function documentDescriptionOf(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.replaceAll(/\r\n?/g, '\n').trim() : '';
  return text === '' ? undefined : cutAtWord(text, MAX_DESCRIPTION);
}
