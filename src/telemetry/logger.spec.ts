import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LogDestination } from './logger.js';

const LINE = `${'x'.repeat(1_023)}\n`;
const LINES = 20_000;

let reader: ChildProcess;
let output = '';
beforeAll(() => {
  reader = spawn('cat', [], { stdio: ['pipe', 'pipe', 'ignore'] });
  reader.stdout?.setEncoding('latin1').on('data', (text: string) => (output += text));
});
afterAll(() => reader.kill('SIGKILL'));

it('drops lines over the buffer limit while the reader is stopped and reports their number afterwards', async () => {
  const { fd } = (reader.stdin as unknown as { _handle: { fd: number } })._handle;
  let lost = 0;
  const destination = new LogDestination(fd, (lines) => (lost += lines));
  reader.kill('SIGSTOP');
  for (let line = 0; line < LINES; line += 1) {
    destination.write(LINE);
    if (line % 10 === 0) await new Promise(setImmediate);
  }
  reader.kill('SIGCONT');
  await expect.poll(() => lost).toBeGreaterThan(LINES / 2);
  await expect.poll(() => output.length).toBe((LINES - lost) * LINE.length);
  expect(new Set(output.split('\n'))).toEqual(new Set([LINE.trim(), '']));
  reader.stdin?.end();
  await once(reader, 'close');
});
