import { expect, it } from 'vitest';
import { isLoopbackHost } from './urls.js';

it.each([
  ['localhost', true],
  ['LocalHost', true],
  ['registry.localhost', true],
  ['127.0.0.1', true],
  ['127.255.255.254', true],
  ['[::1]', true],
  ['', false],
  ['localhost.example', false],
  ['notlocalhost', false],
  ['localhost.', false],
  ['127.0.0.1.example', false],
  ['127.evil.example', false],
  ['127.0.0.256', false],
  ['128.0.0.1', false],
  ['0.0.0.0', false],
  ['::1', false],
  ['[::]', false],
  ['[::1%25lo]', false],
])('isLoopbackHost(%j) is %s', (host, answer) => expect(isLoopbackHost(host)).toBe(answer));
