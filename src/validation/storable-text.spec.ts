import { expect, it } from 'vitest';
import { isStorable, toStorable } from './storable-text.js';

it.each<[text: string, stored: string]>([
  ['', ''],
  ['Ünïcödé 😀', 'Ünïcödé 😀'],
  ['a'.repeat(8_192), 'a'.repeat(8_192)],
  ['a\u0001b', 'a\u0001b'],
])('accepts $0', (text, stored) => {
  expect(isStorable(text)).toBe(true);
  expect(toStorable(text)).toBe(stored);
});

it.each<[text: string, stored: string]>([
  ['a\0b', 'a\uFFFDb'],
  ['\ud83d', '\uFFFD'],
  ['\ude00\ud83d', '\uFFFD\uFFFD'],
  ['a'.repeat(8_193), 'a'.repeat(8_192)],
  [`${'a'.repeat(8_191)}😀`, `${'a'.repeat(8_191)}\uFFFD`],
])('refuses and replaces $0', (text, stored) => {
  expect(isStorable(text)).toBe(false);
  expect(toStorable(text)).toBe(stored);
  expect(isStorable(stored)).toBe(true);
});
