import { describe, expect, it } from 'vitest';
import { type FoundVersion, RowsPerName } from './page-body.js';

const ALL = {};
/** A page of names, each with the given number of rows. */
const page = (...rows: number[]) =>
  rows.flatMap((count, name) =>
    Array.from({ length: count }, () => ({ name: `io.acme/${name}` }) as FoundVersion),
  );

describe('RowsPerName', () => {
  it('expects one row before any page is read', () => {
    expect(new RowsPerName().expected('server', ALL)).toBe(1);
  });

  it('rises slowly and falls immediately', () => {
    const rows = new RowsPerName();
    rows.observe('server', ALL, page(5, 5, 2));
    expect(rows.expected('server', ALL)).toBeCloseTo(1.4);
    for (let read = 0; read < 100; read += 1) rows.observe('server', ALL, page(5, 5, 2));
    expect(rows.expected('server', ALL)).toBeCloseTo(5);
    rows.observe('server', ALL, page(2, 2, 9));
    expect(rows.expected('server', ALL)).toBe(2);
  });

  it.each([
    ['a page of one name', page(9)],
    ['an empty page', page()],
  ])('ignores %s', (_what, found) => {
    const rows = new RowsPerName();
    rows.observe('server', ALL, found);
    expect(rows.expected('server', ALL)).toBe(1);
  });

  it('keeps separate estimates by type and by listed versions', () => {
    const rows = new RowsPerName();
    rows.observe('server', ALL, page(5, 5, 2));
    expect(rows.expected('skill', ALL)).toBe(1);
    expect(rows.expected('server', { version: 'latest' })).toBe(1);
    expect(rows.expected('server', { includeDeleted: true })).toBe(1);
    expect(rows.expected('server', { includeDeleted: false })).toBeCloseTo(1.4);
  });
});
