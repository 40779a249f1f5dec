import { expect, it } from 'vitest';
import { collide, parseAddress } from './address.js';

it.each([
  [':8080', { port: 8080 }],
  [':0', { port: 0 }],
  ['127.0.0.1:80', { host: '127.0.0.1', port: 80 }],
  ['localhost:8080', { host: 'localhost', port: 8080 }],
  ['[::1]:8080', { host: '::1', port: 8080 }],
  ['[::]:65535', { host: '::', port: 65535 }],
])('%s is %j', (text, address) => expect(parseAddress(text)).toEqual(address));

it.each([
  '',
  '8080',
  ':',
  ':65536',
  ':-1',
  ':80a',
  'a b:80',
  '::1:80',
  '[]:80',
  '[zz]:80',
  '[127.0.0.1]:80',
  'http://x:80',
  '*:80',
  ':8080\n',
])('%j is no address', (text) => expect(parseAddress(text)).toBeUndefined());

it.each([
  [':1', ':1', true],
  ['127.0.0.1:1', ':1', true],
  ['127.0.0.1:1', '127.0.0.1:1', true],
  ['127.0.0.1:1', '[::1]:1', false],
  [':1', ':2', false],
  [':0', ':0', false],
])('%s and %s collide: %s', (one, other, answer) =>
  expect(collide(parseAddress(one) ?? { port: 0 }, parseAddress(other) ?? { port: 0 })).toBe(answer),
);
