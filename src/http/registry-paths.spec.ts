import { describe, expect, it } from 'vitest';
import { followPath } from './registry-paths.js';

const KEY = 'K'.repeat(43);

describe('a request path', () => {
  it.each<[string, string, string]>([
    // reference/access: the same registry with a key.
    [
      `/registry/ide/k/${KEY}/v0.1/servers?limit=50`,
      '/registry/ide/v0.1/servers?limit=50',
      '/registry/ide/k/{key}/v0.1/servers',
    ],
    [
      `/registry/ide/k/short/v0.1/servers`,
      '/registry/ide/v0.1/servers',
      '/registry/ide/k/{key}/v0.1/servers',
    ],
    [`/registry/ide/k/${KEY}`, '/registry/ide', '/registry/ide/k/{key}'],
    [`/registry/ide/k/${KEY}/`, '/registry/ide/', '/registry/ide/k/{key}/'],
    [`/registry/k/k/${KEY}/v0.1/servers`, '/registry/k/v0.1/servers', '/registry/k/k/{key}/v0.1/servers'],
    [
      `http://host:1/registry/ide/k/${KEY}/v0/servers`,
      'http://host:1/registry/ide/v0/servers',
      '/registry/ide/k/{key}/v0/servers',
    ],
  ])('with a key is rewritten without it: %s', (target, url, pathToLog) => {
    const followed = followPath(target, null);
    expect({ url: followed.url, pathToLog: followed.pathToLog }).toEqual({ url, pathToLog });
    expect(followed.registryKey?.registry).toMatch(/^(ide|k)$/);
  });

  it.each<[string, string]>([
    [`/registry/ide/%6B/${KEY}/v0.1/servers`, '/registry/ide/%6B/{key}/v0.1/servers'],
    [`//registry/ide/K/short/v0.1`, '//registry/ide/K/{key}/v0.1'],
    [`/registry/ide/${KEY}/v0.1/servers`, '/registry/ide/{key}/v0.1/servers'],
    [`/${KEY}?k=${KEY}`, '/{key}'],
    // Some clients and proxies encode slashes and other characters.
    [`/registry/ide%2fk%2F${KEY}/v0.1/servers`, '/registry/ide%2fk%2F{key}/v0.1/servers'],
    [`/registry/ide%252Fk%25252F${KEY}/v0.1/servers`, '/registry/ide%252Fk%25252F{key}/v0.1/servers'],
    [`/registry/ide/%256b/short%2Fv0.1`, '/registry/ide/%256b/{key}%2Fv0.1'],
    [`/registry/ide/%254b${KEY.slice(1)}%25`, '/registry/ide/{key}%25'],
    [`/registry/ide/k%2Fshort/v0.1/servers`, '/registry/ide/k%2F{key}/v0.1/servers'],
    [`/registry/ide/%0a${KEY}%00`, '/registry/ide/%0a{key}%00'],
    [`/registry/ide/%4b${KEY.slice(1)}`, '/registry/ide/{key}'],
    [`/registry/ide/%${KEY}`, '/registry/ide/%{key}'],
    // A key that is joined to the text next to it.
    [`/registry/ide/k${'aA1'.repeat(14)}Z/v0.1`, '/registry/ide/{key}/v0.1'],
    [`/registry/ide/k${'aA1'.repeat(14)}%41-/v0.1`, '/registry/ide/{key}/v0.1'],
    [`/mcp/registry/ide/k/short/v0.1/servers`, '/mcp/registry/ide/k/{key}/v0.1/servers'],
  ])('with a misplaced key is not rewritten, and is logged without the key: %s', (target, pathToLog) => {
    expect(followPath(target, null)).toEqual({ url: target, pathToLog });
  });

  it.each([
    `/registry/ide/v0.1/servers/io.k%2Fk/versions/${'1'.repeat(42)}`,
    `/registry/ide/v0.1/servers/${'a'.repeat(42)}.${'b'.repeat(42)}%2F%2e${'c'.repeat(42)}`,
    `/registry/${'a-long-name-'.repeat(4)}of-a-registry/v0.1/servers`,
    '/registry/k/v0.1/servers',
    '/k/v0.1/%',
  ])('without a key is logged unchanged: %s', (target) => {
    expect(followPath(target, null).pathToLog).toBe(target);
  });

  it.each<[string, string]>([
    ['/v0.1/servers?cursor=a', '/registry/ide/v0.1/servers?cursor=a'],
    ['/v0/publish', '/registry/ide/v0/publish'],
    ['/v0.1', '/registry/ide/v0.1'],
    ['/v1/sources', '/v1/sources'],
    ['/v0.10/servers', '/v0.10/servers'],
    ['/registry/other/v0.1/servers', '/registry/other/v0.1/servers'],
    ['/V0.1/servers', '/V0.1/servers'],
  ])('at the root leads to the root registry: %s', (target, url) => {
    expect(followPath(target, 'ide').url).toBe(url);
    expect(followPath(target, null).url).toBe(target);
  });

  it.each<[string, string]>([
    ['//v0.1/servers?a=//v0', '/registry/ide/v0.1/servers?a=//v0'],
    ['/registry/other//v0/servers', '/registry/other/v0/servers'],
    ['/registry/other//x/search?q=a', '/registry/other/x/search?q=a'],
    ['/registry/other//mcp', '/registry/other/mcp'],
    ['/registry/other/v0.1//x/search', '/registry/other/v0.1/x/search'],
    ['/v0//x/search', '/registry/ide/v0/x/search'],
    [`/registry/other/k/${KEY}//v0.1/servers`, '/registry/other/v0.1/servers'],
    ['https://a.example/registry/other//v0.1', 'https://a.example/registry/other/v0.1'],
    ['/registry/other///v0.1/servers', '/registry/other///v0.1/servers'],
    ['/registry/other//v0.2/servers', '/registry/other//v0.2/servers'],
    ['/registry/other//git/marketplace.git', '/registry/other//git/marketplace.git'],
    ['/registry/other/v0.1//servers', '/registry/other/v0.1//servers'],
    ['/registry/other//xy', '/registry/other//xy'],
    ['/registry//v0.1/servers', '/registry//v0.1/servers'],
    ['//v1/sources', '//v1/sources'],
  ])('may have a doubled slash before v0, v0.1, x and mcp: %s', (target, url) => {
    expect(followPath(target, 'ide').url).toBe(url);
  });

  it('at the root keeps a doubled slash without a root registry', () => {
    expect(followPath('//v0.1/servers', null).url).toBe('//v0.1/servers');
  });

  it('is logged without its query', () => {
    expect(followPath('/v0.1/servers?search=secret', 'ide').pathToLog).toBe('/v0.1/servers');
  });
});
