import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERROR_CATALOGUE } from '../../dist/http/errors.js';

const DOCUMENTS = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join('docs', file)),
];

const textOf = (file: string) => readFileSync(file, 'utf8');

function textsBelow(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => textOf(join(folder, file)))
    .join('\n');
}

/** Everything in backticks that looks like a source file of this repository. */
function filesNamedIn(text: string): string[] {
  return [...text.matchAll(/`([\w.-]+(?:\/[\w.-]+)+\.(?:ts|mjs|js|sql))`/g)].map((match) => match[1] ?? '');
}

describe('references in the documentation', () => {
  it.each(DOCUMENTS)('point to existing files in %s', (document) => {
    const missing = filesNamedIn(textOf(document)).filter(
      (file) => !file.startsWith('dist/') && !existsSync(file) && !existsSync(join('src', file)),
    );
    expect(missing).toEqual([]);
  });

  it.each(DOCUMENTS)('point to existing link targets in %s', (document) => {
    const links = [...textOf(document).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(
      (match) => match[1] ?? '',
    );
    expect(links.filter((link) => !existsSync(join(dirname(document), link)))).toEqual([]);
  });
});

describe('coverage of the documentation and tests', () => {
  it('documents every configuration key', () => {
    const documents = DOCUMENTS.map(textOf).join('\n');
    const settings = readdirSync('src', { recursive: true, encoding: 'utf8' })
      .filter((file) => /(settings|config-file)\.dto\.ts$/.test(file))
      .map((file) => textOf(join('src', file)))
      .join('\n');
    const keys = [...settings.matchAll(/@(?:Is|Validate)\w*\(.*\)\s+(\w+)\??: (?!unknown)/g)].map(
      (match) => match[1] ?? '',
    );
    expect(keys.length).toBeGreaterThan(40);
    expect(keys.filter((key) => !new RegExp(`\\b${key}\\b`).test(documents))).toEqual([]);
  });

  it('tests every error that clients can get', () => {
    const tests = textsBelow('test');
    // Internal faults, which no request can cause.
    const internal = new Set(['access_undeclared', 'internal_error']);
    const untested = Object.keys(ERROR_CATALOGUE).filter(
      (code) => !internal.has(code) && !tests.includes(code),
    );
    expect(untested).toEqual([]);
  });
});
