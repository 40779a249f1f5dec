import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { MAX_BYTES, readConfigText } from './read-text.js';
import { ConfigurationError } from '../../validation/problems.js';

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
  [file('large', Buffer.alloc(MAX_BYTES + 1, 0x20)), 'is larger than 4 MiB'],
])('%s %s', (path, fragment) => {
  expect(() => readConfigText(path)).toThrow(ConfigurationError);
  expect(() => readConfigText(path)).toThrow(`${path}: ${fragment}`);
});
