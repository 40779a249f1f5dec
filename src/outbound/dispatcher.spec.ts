import { expect, it } from 'vitest';
import { proxyAuthorization, proxyFor } from './dispatcher.js';

const http = { origin: 'http://plain.example:3128', credentials: null };
const https = { origin: 'http://secure.example:3128', credentials: { username: 'a', password: 'b:c' } };

it.each<[url: string, noProxy: string[], proxy: object | null]>([
  ['https://idp.example.com/', [], https],
  ['http://idp.example.com/', [], http],
  ['https://idp.example.com/', ['*'], null],
  ['https://idp.example.com/', ['idp.example.com'], null],
  ['https://IDP.example.com/', ['idp.Example.com'], null],
  ['https://idp.example.com./', ['idp.example.com'], null],
  ['https://idp.example.com/', ['example.com'], null],
  ['https://idp.example.com/', ['.example.com'], null],
  ['https://idp.example.com/', ['*.example.com'], null],
  ['https://example.com/', ['.example.com'], null],
  ['https://notexample.com/', ['example.com'], https],
  ['https://example.com.evil.example/', ['example.com'], https],
  ['https://idp.example.com/', ['other.example', 'com'], null],
  ['https://idp.example.com/', ['idp.example.com:443'], null],
  ['https://idp.example.com/', ['idp.example.com:8443'], https],
  ['https://idp.example.com:8443/', ['idp.example.com:8443'], null],
  ['http://idp.example.com/', ['idp.example.com:80'], null],
  ['https://10.1.2.3/', ['10.1.2.3'], null],
  ['https://10.1.2.3/', ['10.0.0.0/8'], null],
  ['https://10.1.2.3/', ['10.1.2.0/24', '192.168.0.0/16'], null],
  ['https://11.1.2.3/', ['10.0.0.0/8'], https],
  ['https://10.1.2.3/', ['3'], https],
  ['https://10.1.2.3/', ['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/x'], https],
  ['https://[fd00::1]/', ['fd00::1'], null],
  ['https://[fd00::1]/', ['[fd00::1]:443'], null],
  ['https://[fd00::1]/', ['fd00::/8'], null],
  ['https://[fe00::1]/', ['fd00::/8'], https],
  ['https://idp.example.com/', ['10.0.0.0/8', '.', ':', '[', ''], https],
])('a request to %s with NO_PROXY %j uses proxy %j', (url, noProxy, proxy) => {
  expect(proxyFor(new URL(url), { http, https, noProxy })).toBe(proxy);
});

it('connects directly when no proxy is set for the scheme', () => {
  expect(proxyFor(new URL('https://idp.example.com'), { http, https: null, noProxy: [] })).toBeNull();
  expect(proxyFor(new URL('http://idp.example.com'), { http: null, https, noProxy: [] })).toBeNull();
});

it('sends Proxy-Authorization when the proxy has credentials', () => {
  expect(proxyAuthorization(http)).toBeUndefined();
  expect(proxyAuthorization(https)).toBe(`Basic ${Buffer.from('a:b:c').toString('base64')}`);
});
