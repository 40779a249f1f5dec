import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LimitSettings } from '../../src/config/config-file.dto.js';

const ROOT = resolve(import.meta.dirname, '../..');
const text = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');
const limits =
  readFileSync(join(ROOT, 'docs/reference/limits.md'), 'utf8').split('\n## All limits\n')[1] ?? '';
const named = [...new Set(`${text}${limits}`.match(/[\w./-]+\.spec\.ts/g))];

describe('security and limits in the documents', () => {
  it.each(named)('names an existing test: %s', (file) => {
    expect(existsSync(join(ROOT, file.includes('/') ? file : join('test/api', file)))).toBe(true);
  });

  it('names a test, or how to try it, for each promise', () => {
    const [, section = ''] = /## What is promised\n([^]*?)\n## /.exec(text) ?? [];
    const promises = section.split('\n').filter((line) => /^\| [A-Z]/.test(line));
    expect(promises.length).toBeGreaterThan(10);
    expect(promises.filter((line) => !/spec\.ts|npm run|test\/support/.test(line))).toEqual([]);
  });

  it('names who controls each limited resource, what happens beyond the limit, and a test', () => {
    const rows = limits.split('\n').filter((line) => /^\| (?!resource|---)/.test(line));
    expect(rows.length).toBeGreaterThan(20);
    const incomplete = rows.filter((row) => {
      const [, ...cells] = row.split(' | ');
      return cells.length !== 4 || !cells.at(-1)?.includes('.spec.ts');
    });
    expect(incomplete).toEqual([]);
  });

  it.each(Object.keys(new LimitSettings()).filter((name) => name !== 'keepAlive'))(
    'names limits.%s, and a test of the limit sets it or states its default',
    (name) => {
      const rows = limits.split('\n').filter((line) => line.includes(`limits.${name}`));
      expect(rows).toHaveLength(1);
      const files = rows[0]?.match(/[\w./-]+\.spec\.ts/g) ?? [];
      const tests = files.map((file) =>
        readFileSync(join(ROOT, file.includes('/') ? file : join('test/api', file)), 'utf8'),
      );
      expect(tests.some((test) => test.includes(name))).toBe(true);
    },
  );
});
