import { expect, it } from 'vitest';
import { hashOf, parseHash } from './route.js';

it.each([
  ['', [], ''],
  ['#/', [], ''],
  ['#/catalogue/acme', ['catalogue', 'acme'], ''],
  ['#/catalogue/acme/server/com.example%2Fa', ['catalogue', 'acme', 'server', 'com.example/a'], ''],
  ['#/catalogue/acme?search=a%3Fb', ['catalogue', 'acme'], 'search=a%3Fb'],
  ['#/catalogue//acme/', ['catalogue', 'acme'], ''],
  ['#/catalogue/%', ['catalogue', '%'], ''],
])('%s', (hash, path, query) => {
  const route = parseHash(hash);
  expect({ path: route.path, query: route.query.toString() }).toEqual({ path, query });
});

it.each([
  [['catalogue', 'a/b?c#d'], {}, '#/catalogue/a%2Fb%3Fc%23d'],
  [['catalogue'], { search: 'a b', type: '' }, '#/catalogue?search=a+b'],
])('%j %j', (path, query, hash) => {
  expect(hashOf(path, query)).toBe(hash);
  expect(parseHash(hash).path).toEqual(path);
});
