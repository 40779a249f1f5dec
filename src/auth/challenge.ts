/** Path of the protected resource metadata (RFC 9728 §3), which describes how clients get a token. */
const METADATA_PATH = '/.well-known/oauth-protected-resource';

/** Inserts the well-known path between the resource's host and path; drops a lone "/" (RFC 9728 §3.1). */
export function resourceMetadataUrl(resourceUrl: string): string {
  const { origin, pathname } = new URL(resourceUrl);
  return `${origin}${METADATA_PATH}${pathname === '/' ? '' : pathname}`;
}

/**
 * Builds `WWW-Authenticate` for a 401 (RFC 6750 §3, RFC 9728 §5.1, reference/authentication).
 *
 * @param problem Why the token was refused; null when none was sent, which omits the `error` parameter (RFC 6750 §3.1).
 */
export function challenge(realm: string, resourceUrl: string, problem: string | null): string {
  const parameters = [
    ['realm', realm],
    ...(problem === null
      ? []
      : [['error', 'invalid_token'] as const, ['error_description', problem] as const]),
    ['resource_metadata', resourceMetadataUrl(resourceUrl)],
  ];
  return `Bearer ${parameters.map(([name, value]) => `${name}="${value}"`).join(', ')}`;
}
