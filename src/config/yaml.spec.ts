import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigurationError } from '../validation/value-checks.js';
import { MAX_YAML_BYTES, parseYaml, readConfigText } from './yaml.js';

describe('a YAML file', () => {
  it('is parsed into plain data, with a line number for each path', () => {
    const { tree, lineOf } = parseYaml('a: &x\n  b: [1, "2"]\nc: *x\n"d e": ~\n', 'f.yaml');
    expect(tree).toEqual({ a: { b: [1, '2'] }, c: { b: [1, '2'] }, 'd e': null });
    const paths = [['a'], ['a', 'b'], ['a', 'b', 1], ['c'], ['c', 'b'], ['d e'], ['a', 'missing'], ['a', 1]];
    expect(paths.map(lineOf)).toEqual([1, 2, 2, 3, 2, 4, undefined, undefined]);
  });

  it('keeps a key __proto__ as a key', () => {
    expect(Object.keys(parseYaml('__proto__: {a: 1}\n', 'f.yaml').tree ?? {})).toEqual(['__proto__']);
  });

  it.each(
    [
      ['', 'is empty'],
      ['# nothing\n', 'is empty'],
      ['---\n', 'is empty'],
      ['text', 'must contain a map of sections'],
      ['- a', 'must contain a map of sections'],
      ['5', 'must contain a map of sections'],
      ['a: 1\n---\nb: 2\n', 'must contain one YAML document'],
      ['a: 1\nb: 2\na: 3\n', 'has the same key twice'],
      ['a: [1, 2\nb: 3', 'is not valid YAML'],
      ['a: "x', 'is not valid YAML'],
      ['a:\n\tb: 1', 'is not valid YAML'],
      ['a: *nowhere', 'contains an alias without an anchor'],
      ['a: !secret x', 'is not valid YAML'],
      ['a: !!binary eA==', 'contains a value with a tag'],
      ['? [a, b]\n: 1', 'contains a key that is not a scalar'],
      ['? {a: b}\n: 1', 'contains a key that is not a scalar'],
      ['~: 1', 'contains a key that is not a scalar'],
      ['a: &a [*a]', 'is nested too deeply'],
      [`a: ${'['.repeat(100)}${']'.repeat(100)}`, 'is nested too deeply'],
      [`a: ${'['.repeat(30_000)}`, 'is nested too deeply'],
      [`a: ${'{a: '.repeat(30_000)}`, 'is nested too deeply'],
      [`${'- '.repeat(30_000)}x`, 'is nested too deeply'],
      [`${'? '.repeat(30_000)}x`, 'is nested too deeply'],
      [Array.from({ length: 2_000 }, (_, n) => `${' '.repeat(n)}a:`).join('\n'), 'is nested too deeply'],
      [
        billionLaughs(),
        'expand to more than 10000 values, the limit for a file of this size: write out some of the lists',
      ],
    ].map(([text = '', fragment = '']) => [text.slice(0, 30), fragment, text] as const),
  )('refuses %j: %s', (_start, fragment, text) => {
    expect(() => parseYaml(text, 'f.yaml')).toThrow(ConfigurationError);
    expect(() => parseYaml(text, 'f.yaml')).toThrow(fragment);
  });

  it('expands aliases to as many values as the file has characters', () => {
    const names = Array.from({ length: 1_000 }, (_, n) => `a-source-with-a-long-name-${n}`);
    const lists = (count: number) =>
      `all: &all [${names.join(', ')}]\nlists: [${Array(count).fill('*all').join(', ')}]`;
    expect(parseYaml(lists(25), 'f.yaml').tree).toEqual({ all: names, lists: Array(25).fill(names) });
    expect(() => parseYaml(lists(40), 'f.yaml')).toThrow(`more than ${lists(40).length} values`);
  });

  it('reports line and column of a syntax error', () => {
    expect(() => parseYaml('a: 1\nb: 2\na: 3\n', 'f.yaml')).toThrow(
      'f.yaml: has the same key twice in one map, column 1 (line 3)',
    );
  });

  it.each([
    'password: "hunter2',
    'password: hunter2\n hunter2: x\n- hunter2',
    'a: @hunter2',
    'a: {hunter2',
    'a: `hunter2',
    '%hunter2 x',
    'a: "\\hunter2"',
  ])('does not quote the invalid file %j', (text) => {
    expect(() => parseYaml(text, 'f.yaml')).toThrow(ConfigurationError);
    expect(() => parseYaml(text, 'f.yaml')).not.toThrow('hunter2');
  });
});

function billionLaughs(): string {
  const levels = Array.from(
    { length: 12 },
    (_, n) =>
      `l${n}: &l${n} [${Array(10)
        .fill(n === 0 ? 'x' : `*l${n - 1}`)
        .join(', ')}]`,
  );
  return levels.join('\n');
}

const directory = mkdtempSync(join(tmpdir(), 'registry-config-'));

function file(name: string, content: string | Buffer): string {
  writeFileSync(join(directory, name), content);
  return join(directory, name);
}

it('reads UTF-8, with or without a byte order mark', () => {
  expect(readConfigText(file('bom', '\ufeffa: ü'))).toBe('a: ü');
});

it.each([
  [join(directory, 'missing'), 'does not exist'],
  [join(directory, 'bom', 'below-a-file'), 'does not exist'],
  [directory, 'is a directory'],
  ['/dev/null', 'is not a regular file'],
  [file('latin1', Buffer.from([0x61, 0xfc, 0x3a])), 'is not a text file in UTF-8'],
  [file('large', Buffer.alloc(MAX_YAML_BYTES + 1, 0x20)), 'is larger than 4 MiB'],
])('reports that %s %s', (path, fragment) => {
  expect(() => readConfigText(path)).toThrow(ConfigurationError);
  expect(() => readConfigText(path)).toThrow(`${path}: ${fragment}`);
});
