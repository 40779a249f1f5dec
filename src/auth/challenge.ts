/** RFC 9728 §3: where clients learn how to get a token. */
const METADATA_PATH = '/.well-known/oauth-protected-resource';

/** The well-known path is put between host and path of the resource; only a slash right after the host goes (RFC 9728 §3.1). */
export function resourceMetadataUrl(resourceUrl: string): string {
  const { origin, pathname } = new URL(resourceUrl);
  return `${origin}${METADATA_PATH}${pathname === '/' ? '' : pathname}`;
}

/**
 * The value of `WWW-Authenticate` on a 401 (RFC 6750 §3, RFC 9728 §5.1, contract §8).
 *
 * @param problem why the token was refused; null when none was sent, which is no error of the client.
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
