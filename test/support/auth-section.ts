import type { Document } from './documents.js';
import type { ServiceUnderTest } from './service.js';

/** `full` is oauth mode with roles, `auth-only` is oauth mode without roles. */
export interface AuthOptions {
  mode?: 'anonymous' | 'auth-only' | 'full';
  roles?: Document;
  policy?: Document;
  realm?: string;
  publicPaths?: string[];
  resourceUrl?: string;
  resourceDocumentation?: string;
  scopesSupported?: string[];
  /** Replaces the service's issuer. Called at each start, when the issuers are listening. */
  providers?: (service: ServiceUnderTest) => Document[];
  blocked?: Document[];
  /** Additional members of each provider. */
  everyProvider?: Document;
}

const ROLES = {
  superAdmin: [{ role: 'super-admin' }],
  manageSources: [{ role: 'admin' }],
  manageRegistries: [{ role: 'admin' }],
  manageEntries: [{ role: 'writer' }],
};

/** The configured `auth` section. */
export function authSection(options: AuthOptions, service: ServiceUnderTest): Document {
  const { mode = 'anonymous', roles, policy, providers, everyProvider, ...oauth } = options;
  if (mode === 'anonymous') return { mode };
  const { iss, audience } = service.issuer;
  const own = { name: 'corporate', issuerUrl: iss, audience, allowPrivateIP: true };
  return {
    mode: 'oauth',
    oauth: {
      resourceUrl: 'https://registry.example.com',
      ...oauth,
      providers: (providers?.(service) ?? [own]).map((provider) => ({ ...provider, ...everyProvider })),
    },
    ...(mode === 'full' ? { authz: { roles: { ...ROLES, ...roles }, ...(policy ? { policy } : {}) } } : {}),
  };
}
