import { expect, it } from 'vitest';
import { retryAfterMs } from './http-client.js';

const NOW = Date.parse('2026-01-01T00:00:00Z');

it.each([
  [undefined, null],
  ['0', 0],
  ['120', 120_000],
  ['999999999', 999_999_999_000],
  ['Thu, 01 Jan 2026 00:02:00 GMT', 120_000],
  ['Wed, 31 Dec 2025 23:00:00 GMT', 0],
  ['9999999999', null],
  ['soon', null],
  ['-5', null],
  ['1.5', null],
  ['', null],
  [['1', '2'], null],
])('parses Retry-After %j as %j ms', (header, ms) => expect(retryAfterMs(header, NOW)).toBe(ms));
