import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERRORS } from '../../dist/http/errors.js';

const DOCUMENTS = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join('docs', file)),
];

const REFERENCE = 'docs/reference';
/** How comments cite the reference: `reference/audit`, `reference/errors#codes`. Part of no path or URL. */
const CITATION = /(?<![\w/.-])reference\/([a-z-]+)(?:#([\w-]+))?/g;

/** Blocks and words in backticks: a key such as `rules` is also a word of the prose. */
const CODE = /^ *```.*?^ *```|`[^`]+`/gms;
/** A property of a class, whose decorators may be on lines of their own. */
const PROPERTY = /^ {2}(?:@.*\) )?(\w+)\??: (?!unknown).*[;=]$/gm;

const textOf = (file: string) => readFileSync(file, 'utf8');

function textsBelow(...folders: string[]): string {
  return folders
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
    )
    .filter((file) => /\.(ts|tsx|mjs)$/.test(file))
    .map(textOf)
    .join('\n');
}

/** A document without its code, in which `](…)` is not a link. */
const proseOf = (document: string) => textOf(document).replaceAll(/^ *```.*?^ *```/gms, '');

/** The anchors that GitHub gives the headings of a document. */
function anchorsIn(document: string): ReadonlySet<string> {
  const headings = [...proseOf(document).matchAll(/^#+ (.+)$/gm)];
  return new Set(
    headings.map(([, heading = '']) =>
      heading
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/** Everything in backticks that looks like a source file of this repository. */
function filesNamedIn(text: string): string[] {
  return [...text.matchAll(/`([\w.-]+(?:\/[\w.-]+)+\.(?:ts|mjs|js|sql))`/g)].map((match) => match[1] ?? '');
}

describe('the documentation', () => {
  it.each(DOCUMENTS)('refers only to existing files in %s', (document) => {
    const missing = filesNamedIn(textOf(document)).filter(
      (file) => !file.startsWith('dist/') && !existsSync(file) && !existsSync(join('src', file)),
    );
    expect(missing).toEqual([]);
  });

  it.each(DOCUMENTS)('links only to existing files and headings in %s', (document) => {
    const links = [...proseOf(document).matchAll(/\]\((?!\w+:)([^)#]*)(?:#([^)]*))?\)/g)];
    const broken = links.filter(([, file = '', anchor]) => {
      const target = file === '' ? document : join(dirname(document), file);
      return !existsSync(target) || (anchor !== undefined && !anchorsIn(target).has(anchor));
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  it.each(DOCUMENTS)('gives every table a header in %s', (document) => {
    const tables = proseOf(document).match(/(?<=^|\n)(?:\|.*\n)+/g) ?? [];
    expect(tables.filter((table) => !/^\|.*\n\|[-|: ]+\|\n/.test(table))).toEqual([]);
  });

  it('contains every page and heading that the code cites', () => {
    const cited = [
      ...textsBelow('src', 'test', 'migrations', 'web/src', 'bench', 'scripts', 'demo').matchAll(CITATION),
    ];
    const broken = cited.filter(([, page = '', anchor]) => {
      const target = join(REFERENCE, `${page}.md`);
      return !existsSync(target) || (anchor !== undefined && !anchorsIn(target).has(anchor));
    });
    expect(broken.map(([citation]) => citation)).toEqual([]);
  });
});

describe('the reference', () => {
  const pages = readdirSync(REFERENCE).filter((file) => file !== 'README.md');

  it('has an index of all its pages', () => {
    const index = textOf(join(REFERENCE, 'README.md'));
    expect(pages.filter((page) => !index.includes(`](${page})`))).toEqual([]);
  });

  it.each(pages)('can be read in five minutes: %s', (page) => {
    expect(textOf(join(REFERENCE, page)).split(/\s+/).length).toBeLessThanOrEqual(1_500);
  });

  it('has every error with its status', () => {
    const text = textOf(join(REFERENCE, 'errors.md')).replaceAll('\n  ', ' ');
    const items = text.match(/^- [\d, ]+ `.*$/gm) ?? [];
    const missing = Object.entries(ERRORS).filter(
      ([code, { status }]) =>
        !items.some((item) => item.includes(`\`${code}\``) && item.split('`')[0]?.includes(`${status}`)),
    );
    expect(missing.map(([code]) => code)).toEqual([]);
  });
});

describe('documentation and tests together', () => {
  it('document every configuration key', () => {
    const code = DOCUMENTS.flatMap((document) => textOf(document).match(CODE) ?? []).join('\n');
    const settings = readdirSync('src', { recursive: true, encoding: 'utf8' })
      .filter((file) => /(settings|config-file)\.dto\.ts$/.test(file))
      .map((file) => textOf(join('src', file)))
      .join('\n');
    const keys = [...settings.matchAll(PROPERTY)].map(([, key = '']) => key);
    expect(keys.length).toBeGreaterThan(150);
    expect(keys.filter((key) => !new RegExp(`\\b${key}\\b`).test(code))).toEqual([]);
  });

  it('test every error that clients can get', () => {
    const tests = textsBelow('test');
    // Internal faults, which no request can cause.
    const internal = new Set(['access_undeclared', 'internal_error']);
    const untested = Object.keys(ERRORS).filter((code) => !internal.has(code) && !tests.includes(code));
    expect(untested).toEqual([]);
  });
});
