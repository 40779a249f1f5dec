import { expect, it } from 'vitest';
import { skillFileProblems, skillFrontmatter } from './skill-file.js';

const DOCUMENT = { name: 'greet', description: 'Greets' };
const HEAD = 'name: greet\ndescription: Greets\n';
const aFile = (frontmatter: string) => `---\n${frontmatter}\n---\n# Greet\n`;

it('accepts frontmatter of 8 KiB', () => {
  const padded = `${HEAD}note: ${'x'.repeat(8_192 - HEAD.length - 6)}`;
  expect(skillFileProblems(aFile(padded), DOCUMENT)).toEqual([]);
});

// None of these is YAML; a parser would report that instead.
it.each([
  ['a list', `x: [${'1,'.repeat(500_000)}`],
  ['equal keys', 'k: 1\n'.repeat(200_000)],
  ['lines that look like its end', `${'\n--- x'.repeat(150_000)}`],
])('refuses longer frontmatter before it is parsed: %s', (_, more) => {
  const short = skillFileProblems(aFile(HEAD + more.slice(0, 60)), DOCUMENT);
  expect(short).toEqual([expect.not.stringContaining('characters')]);
  expect(skillFileProblems(aFile(HEAD + more), DOCUMENT)).toEqual([
    'SKILL.md: its frontmatter has more than 8192 characters',
  ]);
});

it('does not parse what follows', () => {
  expect(skillFileProblems(`${aFile(HEAD)}${'x: [1,\n'.repeat(100_000)}`, DOCUMENT)).toEqual([]);
});

it.each([
  ['name: greet\ndescription: Use it when: greeting', 'line 3: its frontmatter is not valid YAML: a value that contains a colon followed by a space must be in quotes, column 14'],
  ['name: greet\n\tdescription: Greets', 'line 3: its frontmatter is not valid YAML: Tabs are not allowed as indentation, column 1'],
  ['name: [greet', 'line 2: its frontmatter is not valid YAML'],
  ['name: greet\nname: greet', 'line 3: its frontmatter has the same key twice in one map'],
  ['greet', 'its frontmatter is not a YAML map'],
  ['- greet', 'its frontmatter is not a YAML map'],
  ['', 'its frontmatter is empty'],
])('reports the line and cause for frontmatter that is not a YAML map: %j', (frontmatter, problem) => {
  expect(skillFileProblems(aFile(frontmatter), DOCUMENT)).toEqual([
    expect.stringContaining(`SKILL.md: ${problem}`),
  ]);
}); // oxfmt-ignore

it('accepts a quoted description with a colon', () => {
  const document = { name: 'greet', description: 'Use it when: greeting' };
  expect(skillFileProblems(aFile('name: greet\ndescription: "Use it when: greeting"'), document)).toEqual([]);
});

it('keeps numbers as written', () => {
  const { frontmatter } = skillFrontmatter(aFile('metadata:\n  version: 1.10\n  draft: true'));
  expect(frontmatter).toEqual({ metadata: { version: '1.10', draft: true } });
});
