import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDERS = [
  'src',
  'test',
  'web/src',
  'docs',
  'demo',
  'bench',
  'scripts',
  'deploy',
  'examples',
  'migrations',
];
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'web/index.html',
  'docker-compose.yml',
];
const READ = /\.(ts|tsx|mjs|md|yaml|yml|json|css|html|tpl|txt)$/;

/** Phrases that hide the subject of a sentence: name the thing instead. */
const BANNED = [
  /\bwhoever\b/i,
  /\b(told|tells?|telling)\b/i,
  /\bsa(y|ys|id|ying) so\b/i,
  /\bthat of\b/i,
  /\bthose (who|of)\b/i,
  /\b(is|are|was|were) of (a|an|the|this|that|one|no|its|their)\b/i,
  /\b(be|is|are|was|were) had\b/i,
  /\bby the way that\b/i,
  /\bnobody's\b/i,
];

const files = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
)
  .concat(PAGES)
  .filter((file) => READ.test(file) && !/generated|english\.spec/.test(file));

it.each(BANNED.map((phrase) => [phrase.source, phrase] as const))('no text uses %s', (_source, phrase) => {
  const uses = files.flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .flatMap((line, index) => (phrase.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
  );
  expect(uses).toEqual([]);
});
