import { describe, expect, it } from 'vitest';
import type { Config, ProviderConfig } from '../config/config.js';
import { privateProviders } from './provider-check.js';

const PROXY = { origin: 'http://proxy.example.com', credentials: null };

function warningsFor(changed: Partial<ProviderConfig>, proxy: Config['proxy']['https'] = null): string[] {
  const provider: ProviderConfig = {
    name: 'corporate',
    issuerUrl: 'https://idp.example.com',
    audience: 'registry',
    allowPrivateIP: false,
    introspection: 'fallback',
    idTokens: 'refuse',
    clockToleranceMs: 0,
    connectOrigins: [],
    ...changed,
  };
  const oauth = {
    resourceUrl: 'https://registry.example.com',
    realm: 'mcp-registry',
    scopesSupported: [],
    publicPaths: [],
    blocked: [],
    providers: [provider],
  };
  return privateProviders({
    auth: { mode: 'oauth', oauth },
    proxy: { http: proxy, https: proxy, noProxy: [] },
  });
}

describe('a provider that looks private needs allowPrivateIP (reference/explain)', () => {
  it.each([
    ['https://idp.example.com', false],
    ['https://8.8.8.8', false],
    ['https://[2606:4700::1111]', false],
    ['https://internal.example.com', false],
    ['https://10.0.0.1', true],
    ['https://127.0.0.1:8443', true],
    ['https://169.254.169.254', true],
    ['https://[::1]', true],
    ['https://[fd00::1]', true],
    ['https://localhost', true],
    ['https://keycloak', true],
    ['https://keycloak.auth.svc', true],
    ['https://idp.svc.cluster.local.', true],
    ['https://idp.corp.internal', true],
  ])('%s: %s', (issuerUrl, isPrivate) => {
    expect(warningsFor({ issuerUrl })).toHaveLength(isPrivate ? 1 : 0);
    expect(warningsFor({ issuerUrl, allowPrivateIP: true })).toEqual([]);
  });

  it('includes the setting whose address is contacted', () => {
    const found = warningsFor({
      issuerUrl: 'https://keycloak',
      jwksUrl: 'https://keys.example.com',
      introspectionUrl: 'https://keycloak/introspect',
      groups: { url: 'https://groups.local/' },
    });
    expect(found).toEqual([
      expect.stringMatching(
        /^auth\.oauth\.providers\[0\]\.introspectionUrl \(corporate\): keycloak looks private/,
      ),
      expect.stringMatching(
        /^auth\.oauth\.providers\[0\]\.groups\.url \(corporate\): groups\.local looks private/,
      ),
    ]);
  });

  it('applies to addresses, but not to names that a proxy resolves', () => {
    expect(warningsFor({ issuerUrl: 'https://keycloak' }, PROXY)).toEqual([]);
    expect(warningsFor({ issuerUrl: 'https://10.0.0.1' }, PROXY)).toHaveLength(1);
  });
});
