import { text as textOf } from 'node:stream/consumers';
import { parseYamlValue } from '../config/yaml.js';
import { documentDescriptionOf, documentNameOf } from '../documents/derived-text.js';
import type { EntryType } from '../documents/statuses.js';
import { isObject } from '../json/json-values.js';
import { ConfigurationError } from '../validation/value-checks.js';
import type { IncomingFile } from './content-tree.js';

export const SKILL_FILE = 'SKILL.md';
/** Maximum length of a SKILL.md's frontmatter; it is parsed without a pause, and 8 KiB can take 50 ms. */
const MAX_SKILL_FILE_BYTES = 1024 * 1024;
const MAX_FRONTMATTER = 8 * 1024;

const FRONTMATTER = /^\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)/s;

/** Reads the frontmatter of a SKILL.md; `problem` is one sentence. */
export function skillFrontmatter(
  text: string,
):
  | { readonly frontmatter: Readonly<Record<string, unknown>>; readonly problem?: undefined }
  | { readonly frontmatter?: undefined; readonly problem: string } {
  const [, frontmatter] = FRONTMATTER.exec(text) ?? [];
  if (frontmatter === undefined)
    return { problem: `${SKILL_FILE}: must begin with YAML frontmatter between lines of ---` };
  if (frontmatter.length > MAX_FRONTMATTER)
    return { problem: `${SKILL_FILE}: its frontmatter has more than ${MAX_FRONTMATTER} characters` };
  try {
    // The added line break replaces the opening ---, so that line numbers match the file.
    const { tree } = parseYamlValue(`\n${frontmatter}`, SKILL_FILE, { numbers: 'as text' });
    return isObject(tree)
      ? { frontmatter: tree }
      : { problem: `${SKILL_FILE}: its frontmatter is not a YAML map` };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const [problem] = error.problems;
    const line = problem?.line === undefined ? '' : `line ${problem.line}: `;
    return { problem: `${SKILL_FILE}: ${line}its frontmatter ${problem?.message}` };
  }
}

/**
 * Compares a SKILL.md with the document of its skill (reference/content): `name` and `description` of the frontmatter
 * must equal the document's, apart from white space around them.
 *
 * @param mayBeDerived whether the document may also have the forms that a source derives from them (reference/sources).
 * @returns the problems, one sentence each.
 */
export function skillFileProblems(
  text: string,
  document: { readonly name?: unknown; readonly description?: unknown },
  mayBeDerived = false,
): string[] {
  const { frontmatter, problem } = skillFrontmatter(text);
  if (problem !== undefined) return [problem];
  return (['name', 'description'] as const).flatMap((key) => {
    const [found, expected] = [frontmatter[key], document[key]];
    if (typeof found !== 'string' || typeof expected !== 'string') return [unequal(key)];
    const derived = key === 'name' ? documentNameOf(found) : documentDescriptionOf(found);
    return found.trim() === expected.trim() || (mayBeDerived && derived === expected) ? [] : [unequal(key)];
  });
}

function unequal(key: string): string {
  return `${SKILL_FILE}: ${key}: must equal the ${key} of the skill's document`;
}

/** Returns why these files cannot be the content of a version (reference/content); none for plugins. */
export async function contentProblems(
  type: EntryType,
  document: string,
  files: readonly Pick<IncomingFile, 'path' | 'bytes' | 'open'>[],
  mayBeDerived = false,
): Promise<string[]> {
  if (type !== 'skill') return [];
  const file = files.find(({ path }) => path === SKILL_FILE);
  if (!file) return [`${SKILL_FILE}: is missing at the top of the archive`];
  if (file.bytes > MAX_SKILL_FILE_BYTES) return [`${SKILL_FILE}: is larger than 1 MiB`];
  return skillFileProblems(await textOf(file.open()), JSON.parse(document) as object, mayBeDerived);
}
