import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { LimitSettings } from '../../src/config/config-file.dto.js';
import { tablesIn } from '../support/markdown.js';

const ROOT = resolve(import.meta.dirname, '../..');
const text = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');
const LIMITS = tablesIn(readFileSync(join(ROOT, 'docs/reference/limits.md'), 'utf8')).flat();
const TESTED = parse(readFileSync(join(import.meta.dirname, 'limits.yaml'), 'utf8')) as {
  resource: string;
  tests: string[];
}[];
const named = [
  ...new Set([...(text.match(/[\w./-]+\.spec\.ts/g) ?? []), ...TESTED.flatMap(({ tests }) => tests)]),
];
const pathOf = (test: string) =>
  ['', 'test/api', 'test/system'].map((folder) => join(ROOT, folder, test)).find(existsSync);
const textOf = (test: string) => readFileSync(pathOf(test) ?? test, 'utf8');

describe('security and limits in the documents', () => {
  it.each(named)('refer to an existing test: %s', (file) => {
    expect(pathOf(file)).toBeDefined();
  });

  it('refer to a test, or say how to try it, for each promise', () => {
    const [, section = ''] = /## What is promised\n([^]*?)\n## /.exec(text) ?? [];
    const promises = section.replaceAll('\n  ', ' ').match(/^- .*$/gm) ?? [];
    expect(promises.length).toBeGreaterThan(10);
    expect(promises.filter((line) => !/spec\.ts|npm run|test\/support/.test(line))).toEqual([]);
  });

  it('state the limit of each resource, and what happens beyond it', () => {
    expect(LIMITS.length).toBeGreaterThan(20);
    expect(LIMITS.filter((row) => Object.values(row).filter(Boolean).length !== 3)).toEqual([]);
  });

  it('include a test for each limit in limits.yaml', () => {
    expect(TESTED.map(({ resource }) => resource)).toEqual(LIMITS.map(({ resource }) => resource));
    expect(TESTED.filter(({ tests }) => tests.length === 0)).toEqual([]);
  });

  it.each(Object.keys(new LimitSettings()).filter((name) => name !== 'keepAlive'))(
    'include limits.%s, and a test sets the limit or states its default',
    (name) => {
      const rows = TESTED.filter(({ resource }) => resource.includes(`limits.${name}`));
      expect(rows).toHaveLength(1);
      expect(rows.flatMap(({ tests }) => tests).some((test) => textOf(test).includes(name))).toBe(true);
    },
  );
});
