import { text as textOf } from 'node:stream/consumers';
import { parseYamlValue } from '../config/yaml.js';
import type { EntryType } from '../documents/statuses.js';
import { isObject } from '../json/json-values.js';
import { ConfigurationError } from '../validation/value-checks.js';
import type { IncomingFile } from './content-tree.js';

const SKILL_FILE = 'SKILL.md';
/** Of a SKILL.md; only its frontmatter is parsed, without a pause: 8 KiB can take 50 ms. */
const MAX_SKILL_FILE_BYTES = 1024 * 1024;
const MAX_FRONTMATTER = 8 * 1024;

const FRONTMATTER = /^\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)/s;

/**
 * Compares a SKILL.md with the document of its skill (reference/content): `name` and `description` of the frontmatter must equal
 * the document's, apart from white space around them.
 *
 * @returns the problems, one sentence each.
 */
export function skillFileProblems(
  text: string,
  document: { readonly name?: unknown; readonly description?: unknown },
): string[] {
  const [, frontmatter] = FRONTMATTER.exec(text) ?? [];
  if (frontmatter === undefined)
    return [`${SKILL_FILE}: must begin with YAML frontmatter between lines of ---`];
  if (frontmatter.length > MAX_FRONTMATTER)
    return [`${SKILL_FILE}: its frontmatter has more than ${MAX_FRONTMATTER} characters`];
  let written: unknown;
  try {
    // The line before the frontmatter is the one of ---.
    ({ tree: written } = parseYamlValue(`\n${frontmatter}`, SKILL_FILE));
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const [problem] = error.problems;
    const line = problem?.line === undefined ? '' : `line ${problem.line}: `;
    return [`${SKILL_FILE}: ${line}its frontmatter ${problem?.message}`];
  }
  if (!isObject(written)) return [`${SKILL_FILE}: its frontmatter is not a YAML map`];
  return (['name', 'description'] as const).flatMap((key) => {
    const [found, expected] = [written[key], document[key]];
    return typeof found === 'string' && typeof expected === 'string' && found.trim() === expected.trim()
      ? []
      : [`${SKILL_FILE}: ${key}: must equal the ${key} of the skill's document`];
  });
}

/** Returns why these files cannot be the content of a version (reference/content); none for plugins. */
export async function contentProblems(
  type: EntryType,
  document: string,
  files: readonly Pick<IncomingFile, 'path' | 'bytes' | 'open'>[],
): Promise<string[]> {
  if (type !== 'skill') return [];
  const file = files.find(({ path }) => path === SKILL_FILE);
  if (!file) return [`${SKILL_FILE}: is missing at the top of the archive`];
  if (file.bytes > MAX_SKILL_FILE_BYTES) return [`${SKILL_FILE}: is larger than 1 MiB`];
  return skillFileProblems(await textOf(file.open()), JSON.parse(document) as object);
}
