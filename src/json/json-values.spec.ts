import { describe, expect, it } from 'vitest';
import { parsePointer, valueAt } from './json-values.js';

const TOKEN = JSON.parse(`{
  "role": "writer", "realm_access": { "roles": ["a", "b"] }, "https://acme.example/team": "red", "a~b": 1, "": { "": 0 },
  "m~1n": 2, "constructor": { "name": "own" }, "__proto__": { "role": "root" }, "nothing": null
}`) as unknown;

describe('a JSON Pointer', () => {
  it.each<[string, unknown]>([
    ['/role', 'writer'],
    ['/realm_access/roles', ['a', 'b']],
    ['/https:~1~1acme.example~1team', 'red'],
    ['/a~0b', 1],
    ['/m~01n', 2],
    ['//', 0],
    ['/nothing', null],
    ['/constructor/name', 'own'],
    ['/__proto__/role', 'root'],
    ['', TOKEN],
    ['/Role', undefined],
    ['/role/length', undefined],
    ['/realm_access/roles/0', undefined],
    ['/realm_access/roles/length', undefined],
    ['/realm_access/constructor', undefined],
    ['/realm_access/__proto__', undefined],
    ['/toString', undefined],
    ['/nothing/more', undefined],
  ])('%j leads to %j', (text, value) => {
    expect(valueAt(TOKEN, parsePointer(text) ?? ['not a pointer'])).toEqual(value);
  });

  it.each(['role', '/a~', '/a~2b', '#/role', ' /role', '$.role'])('%j is not a pointer', (text) => {
    expect(parsePointer(text)).toBeUndefined();
  });
});
