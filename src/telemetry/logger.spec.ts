import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { logDestination } from './logger.js';

const LINE = `${'x'.repeat(1_023)}\n`;
const LINES = 20_000;

const folder = mkdtempSync(join(tmpdir(), 'registry-log-'));
const pipe = join(folder, 'pipe');
execFileSync('mkfifo', [pipe]);
const reader = spawn('cat', [pipe], { stdio: ['ignore', 'pipe', 'ignore'] });
let output = '';
reader.stdout.setEncoding('latin1').on('data', (text: string) => (output += text));
afterAll(() => {
  reader.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

it('drops lines over the buffer limit while the reader is stopped and reports their number afterwards', async () => {
  let lost = 0;
  const destination = logDestination(openSync(pipe, 'w'), (lines) => (lost += lines));
  reader.kill('SIGSTOP');
  for (let line = 0; line < LINES; line += 1) {
    destination.write(LINE);
    if (line % 10 === 0) await new Promise(setImmediate);
  }
  reader.kill('SIGCONT');
  await expect.poll(() => lost).toBeGreaterThan(LINES / 2);
  await expect.poll(() => output.length).toBe((LINES - lost) * LINE.length);
  expect(new Set(output.split('\n'))).toEqual(new Set([LINE.trim(), '']));
  destination.end();
  await once(reader, 'close');
});
