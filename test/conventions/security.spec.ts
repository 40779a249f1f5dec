import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const text = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');
const named = [...new Set(text.match(/[\w./-]+\.spec\.ts/g))];

describe('docs/security.md', () => {
  it.each(named)('names an existing test: %s', (file) => {
    expect(existsSync(join(ROOT, file.includes('/') ? file : join('test/api', file)))).toBe(true);
  });

  it('names a test, or how to try it, for each promise', () => {
    const [, section = ''] = /## What is promised\n([^]*?)\n## /.exec(text) ?? [];
    const promises = section.split('\n').filter((line) => /^\| [A-Z]/.test(line));
    expect(promises.length).toBeGreaterThan(10);
    expect(promises.filter((line) => !/spec\.ts|npm run|test\/support/.test(line))).toEqual([]);
  });
});
