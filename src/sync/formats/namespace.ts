import { placeOfRepository } from '../../source-kinds/git-repository.js';

const NAMESPACE = /^[a-zA-Z0-9][a-zA-Z0-9._-]{2,127}$/;

/** Hosts that group repositories by owner. */
const HOSTS_WITH_OWNERS: ReadonlyMap<string, string> = new Map([
  ['github.com', 'io.github'],
  ['gitlab.com', 'io.gitlab'],
]);

/**
 * Returns the namespace for the entries of a repository (reference/sources): `io.github.acme` for `github.com/acme/x`,
 * or the reversed host, `com.acme.git`; undefined if the address gives no valid namespace.
 */
export function namespaceOf(address: string): string | undefined {
  const place = placeOfRepository(address);
  if (!place) return undefined;
  const prefix = HOSTS_WITH_OWNERS.get(place.host);
  const [owner = '', ...rest] = place.path.split('/');
  const namespace =
    prefix !== undefined && rest.length > 0
      ? `${prefix}.${owner.toLowerCase()}`
      : place.host.split('.').reverse().join('.');
  return NAMESPACE.test(namespace) ? namespace : undefined;
}
