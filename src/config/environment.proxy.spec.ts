import { describe, expect, it } from 'vitest';
import { proxyOf, proxyReport } from './environment.js';

const none = { http: null, https: null, noProxy: [] };
const at = (origin: string, username?: string, password = '') => ({
  origin,
  credentials: username === undefined ? null : { username, password },
});

describe('proxies from the environment', () => {
  it.each<[environment: NodeJS.ProcessEnv, proxy: object]>([
    [{}, none],
    [{ HTTPS_PROXY: '', http_proxy: '', NO_PROXY: '' }, none],
    [{ HTTPS_PROXY: 'http://proxy.example:3128' }, { ...none, https: at('http://proxy.example:3128') }],
    [{ HTTP_PROXY: 'http://proxy.example:3128/' }, { ...none, http: at('http://proxy.example:3128') }],
    [{ HTTPS_PROXY: 'proxy.example:3128' }, { ...none, https: at('http://proxy.example:3128') }],
    [{ https_proxy: 'https://proxy.example' }, { ...none, https: at('https://proxy.example') }],
    [
      { https_proxy: 'http://low', HTTPS_PROXY: 'http://high' },
      { ...none, https: at('http://low') },
    ],
    [{ HTTPS_PROXY: 'http://me:s%40cret@proxy' }, { ...none, https: at('http://proxy', 'me', 's@cret') }],
    [{ HTTPS_PROXY: 'me:secret@proxy:3128' }, { ...none, https: at('http://proxy:3128', 'me', 'secret') }],
    [{ HTTPS_PROXY: 'http://me@proxy' }, { ...none, https: at('http://proxy', 'me') }],
    [
      { NO_PROXY: 'a.example, .b.example 10.0.0.0/8,' },
      { ...none, noProxy: ['a.example', '.b.example', '10.0.0.0/8'] },
    ],
    [
      { no_proxy: 'a', NO_PROXY: 'b' },
      { ...none, noProxy: ['a'] },
    ],
    [{ ALL_PROXY: 'http://proxy' }, none],
  ])('from %j are %j', (environment, proxy) => {
    expect(proxyOf(environment)).toEqual({ proxy, issues: [] });
  });

  it.each([
    'socks5://me:hunter2@proxy',
    'http://',
    'http://me:hunter2@proxy/path',
    'http://me:hunter2@proxy?a',
    'http://me:%zzhunter2@proxy',
    'file:///hunter2',
    'http://proxy:hunter2',
  ])('refuse %j without quoting it', (HTTPS_PROXY) => {
    const { issues } = proxyOf({ HTTPS_PROXY });
    expect(issues).toEqual([
      { path: ['HTTPS_PROXY'], message: 'must be the http:// or https:// URL of a proxy, without a path' },
    ]);
  });

  it('are reported without passwords', () => {
    const { proxy } = proxyOf({ HTTPS_PROXY: 'http://me:hunter2@proxy.example:3128', NO_PROXY: '.internal' });
    expect(proxyReport(proxy)).toEqual([
      'proxy: requests to https:// URLs use http://proxy.example:3128, except for .internal; the proxy resolves names and ' +
        'decides which addresses are allowed',
    ]);
    expect(proxyReport(none)).toEqual([]);
  });
});
