import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from './errors.js';
import { decodeCursor, encodeCursor } from './lists.js';

const any = (value: unknown): value is unknown => value !== undefined;

describe('a cursor', () => {
  it('round-trips its state in URL-safe characters', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (state) => {
        const cursor = encodeCursor('servers', state);
        expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(decodeCursor('servers', cursor, any)).toEqual(JSON.parse(JSON.stringify(state)));
      }),
    );
  });

  it('is refused when altered, shortened, lengthened or made for another list', () => {
    const cursor = encodeCursor('servers', { after: 'io.acme/a' });
    const altered = [...cursor].map(
      (letter, at) => cursor.slice(0, at) + (letter === 'A' ? 'B' : 'A') + cursor.slice(at + 1),
    );
    const others = [
      cursor.slice(1),
      cursor.slice(0, -1),
      `${cursor}A`,
      `${cursor}=`,
      '',
      encodeCursor('skills', {}),
    ];
    for (const text of [...altered, ...others])
      expect(() => decodeCursor('servers', text, any)).toThrow(ApiError);
  });

  it('is refused when its state has another shape', () => {
    const isText = (value: unknown): value is string => typeof value === 'string';
    expect(decodeCursor('servers', encodeCursor('servers', 'x'), isText)).toBe('x');
    expect(() => decodeCursor('servers', encodeCursor('servers', 5), isText)).toThrow(ApiError);
  });
});
