import { describe, expect, it } from 'vitest';
import { windowsProblem } from './windows-names.js';

describe('a name', () => {
  it.each([
    ...['a<b', 'a>b', 'a:b', 'a"b', 'a|b', 'a?b', '*'],
    ...['a.', 'a ', '...'],
    ...['con', 'PRN', 'Aux', 'nul', 'COM1', 'com9', 'lpt1', 'LPT9', 'conin$', 'CONOUT$'],
    ...['aux.c', 'Con.tar.gz', 'nul .txt', 'com¹'],
  ])('%j cannot be checked out on Windows', (name) => {
    expect(windowsProblem(name)).toEqual(expect.stringMatching(/its path has/));
  });

  it.each([
    'console',
    'auxiliary.c',
    'com0',
    'com10',
    'lpt',
    'a.con',
    '.con',
    'nul-device',
    'a b',
    'é',
    "it's [1] {2} #$%&",
  ])('%j can', (name) => {
    expect(windowsProblem(name)).toBeUndefined();
  });
});
