import type { OpenAPIObject } from '@nestjs/swagger';
import type { OAuthConfig, ProviderConfig } from '../../config/config.js';

/** The operations a token is asked for; what stands elsewhere is public (spec §5.3). */
const TOKEN_PATH = /^\/(v1|registry)(\/|$)/;
/** Of those, what a publisher asks before they have one (contract §6.2). */
const PUBLIC_PATH = /^\/registry\/.*\/(validate|auth\/github-oidc)$/;

const PASTED = 'bearer';

/**
 * Adds to the document how to send a token: pasted, or by logging in at one of the providers. The document only names where a
 * provider's discovery document is. Whoever reads it asks there: this server asks nothing, so a provider that is
 * down neither delays the start nor changes the document.
 */
export function describeTokens(document: OpenAPIObject, oauth: OAuthConfig): void {
  const schemes = { [PASTED]: pasted(), ...Object.fromEntries(logIns(oauth.providers)) };
  document.components = { ...document.components, securitySchemes: schemes };
  const security = Object.keys(schemes).map((name) => ({ [name]: [] }));
  for (const [path, operations] of Object.entries(document.paths)) {
    const needed = TOKEN_PATH.test(path) && !PUBLIC_PATH.test(path) ? security : [];
    for (const method of ['get', 'put', 'post', 'delete', 'patch'] as const) {
      const operation = operations[method];
      if (operation) operation.security = needed.map((requirement) => ({ ...requirement }));
    }
  }
}

function pasted() {
  return {
    type: 'http' as const,
    scheme: 'bearer',
    description: 'An access token of one of the configured identity providers, issued for this registry',
  };
}

// Two providers of one issuer, with different audiences, have one log-in form: the provider is asked the same either way.
function logIns(providers: readonly ProviderConfig[]) {
  const byIssuer = new Map<string, ProviderConfig>();
  for (const provider of providers)
    if (!byIssuer.has(provider.issuerUrl)) byIssuer.set(provider.issuerUrl, provider);
  const taken = new Set([PASTED]);
  return [...byIssuer.values()].map((provider) => [
    schemeName(provider.name, taken),
    {
      type: 'openIdConnect' as const,
      openIdConnectUrl: `${provider.issuerUrl.replace(/\/$/, '')}/.well-known/openid-configuration`,
      description: `Log in at ${provider.issuerUrl}`,
    },
  ]);
}

// Names of components are letters, digits, ".", "-" and "_"; those of providers are anything.
function schemeName(providerName: string, taken: Set<string>): string {
  const plain = providerName.replaceAll(/[^A-Za-z0-9._-]+/g, '-');
  let name = plain;
  for (let count = 2; taken.has(name); count += 1) name = `${plain}-${count}`;
  taken.add(name);
  return name;
}
