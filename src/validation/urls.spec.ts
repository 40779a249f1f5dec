import { expect, it } from 'vitest';
import { isLoopbackHost, parseHttpUrl, urlProblem } from './urls.js';

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

it('has at most 2,048 characters', () => {
  const ofLength = (length: number) => 'https://a/'.padEnd(length, '/');
  expect(urlProblem(ofLength(2_048))).toBeUndefined();
  expect(urlProblem(ofLength(2_049))).toBe('must have at most 2048 characters');
  expect(parseHttpUrl(ofLength(2_048))).toBeInstanceOf(URL);
  expect(parseHttpUrl(ofLength(2_049))).toBeUndefined();
});
