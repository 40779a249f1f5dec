import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const SOURCE = resolve(import.meta.dirname, '../../src');

it('every class that polls the database is a background job, so that one worker runs it', () => {
  const polls = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .map((file) => [file, readFileSync(join(SOURCE, file), 'utf8')] as const)
    .filter(([, text]) => text.includes('new Polling('));
  expect(polls.length).toBeGreaterThan(8);
  expect(polls.filter(([, text]) => !/^@BackgroundJob\(\)$/m.test(text)).map(([file]) => file)).toEqual([]);
});
