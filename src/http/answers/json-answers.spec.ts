import { describe, expect, it } from 'vitest';
import { CachedJson } from './json-answers.js';

const MIB = 1024 * 1024;

describe('a cached JSON answer', () => {
  it.each([
    [0, false],
    [999, false],
    [1_000, true],
    [4 * MIB, true],
    [4 * MIB + 1, false],
  ])('of %i bytes is compressible: %s', (length, compressible) => {
    expect(new CachedJson(['x'.repeat(length)]).isCompressible).toBe(compressible);
  });

  it('counts each of its encodings once, and calls back when it has grown', async () => {
    const sizes: number[] = [];
    const json: CachedJson = new CachedJson(['x'.repeat(1_000), 'x'.repeat(1_000)], {}, () =>
      sizes.push(json.size),
    );
    expect(json.size).toBe(2_000);
    const [gzip, same] = await Promise.all([json.compressed('gzip'), json.compressed('gzip')]);
    const brotli = await json.compressed('br');
    expect(same).toBe(gzip);
    expect(sizes).toEqual([2_000 + gzip.length, 2_000 + gzip.length + brotli.length]);
  });
});
