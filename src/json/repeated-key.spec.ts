import { describe, expect, it } from 'vitest';
import { countKeys, repeatedKey } from './repeated-key.js';

describe('a key given twice', () => {
  it.each([
    ['{"a":1,"a":2}', 'a'],
    ['{"a":{"b":1,"b":2}}', 'a.b'],
    ['{"x":["a",{"k":"k"},{"k":[{"p":{},"q":1,"p":[]}]}]}', 'x[2].k[0].p'],
    ['{"name":1,"n\\u0061me":2}', 'name'],
    ['{"\\"":1,"a\\\\":2,"\\"":3}', '"'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['{"":1,"":2}', ''],
  ])('is found in %s: %s', (text, path) => {
    expect(repeatedKey(text)).toBe(path);
    expect(countKeys(JSON.parse(text))).toBeLessThan(text.split(':').length - 1);
  });

  it.each([
    ['{"a":{"a":{"a":"a"}},"b":["a","a","b","b"]}', 4],
    ['[{"a":1},{"a":1},"{\\"a\\":1,\\"a\\":2}"]', 2],
    ['{"a":"\\\\","b":",","":[],"__proto__":{"c":null}}', 5],
    ['5', 0],
  ])('is not found where none is: %s', (text, keys) => {
    expect(repeatedKey(text)).toBeNull();
    expect(countKeys(JSON.parse(text))).toBe(keys);
  });
});
