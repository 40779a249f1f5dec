import { expect, it } from 'vitest';
import { escapeInvisible } from './untrusted-text.js';

it.each([
  ['plain', 'plain'],
  ['two\nlines\tand a tab', 'two\nlines\tand a tab'],
  ['safe\u202egnp.exe', 'safe[U+202E]gnp.exe'],
  ['a\u200bb\ufeff', 'a[U+200B]b[U+FEFF]'],
  ['nul\u0000', 'nul[U+0000]'],
  ['\u{e0041}tag', '[U+E0041]tag'],
  ['\u200d', '[U+200D]'],
  ['👨\u200d👩\u200d👧', '👨\u200d👩\u200d👧'],
  ['नमस्\u200cते', 'नमस्\u200cते'],
  ['x'.repeat(4_001), `${'x'.repeat(4_000)}… (4,001 characters)`],
])('$0', (text, shown) => expect(escapeInvisible(text)).toBe(shown));
