import { elements, member } from '../json/json-values.js';
import { FetchError } from '../outbound/fetch-error.js';
import { isInsecure, isLoopbackHost, parseHostAndPort, parseHttpUrl } from '../validation/urls.js';

/** A commit of a Git repository. */
export interface GitReference {
  readonly kind: 'git';
  readonly url: string;
  /** A tag or branch; undefined for the default branch. */
  readonly ref: string | undefined;
  /** The commit; undefined if `ref` must be resolved. */
  readonly pin: string | undefined;
  /** Empty for the whole repository. */
  readonly folder: string;
}

/** An artifact in an OCI registry. */
export interface OciReference {
  readonly kind: 'oci';
  /** The host with its port, if any. */
  readonly host: string;
  readonly repository: string;
  readonly tag: string;
  /** The digest of the manifest; undefined if `tag` must be resolved. */
  readonly pin: string | undefined;
}

export type ContentReference = GitReference | OciReference;

/** An account for a host of `content.fetch.hosts`. */
export interface HostAccount {
  readonly host: string;
  readonly username: string;
  readonly password: string;
}

/** Hosts from which content may be fetched. */
export interface FetchRules {
  readonly fetchHosts: readonly string[];
  readonly fetchAccounts: readonly HostAccount[];
  readonly insecureUrls: boolean;
}

/**
 * Limits on publishers' input: the number of packages that are read, and the characters of a field. The patterns take
 * quadratic time.
 */
const MAX_PACKAGES = 50;
const MAX_FIELD = 2_048;

const COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})$/;
const REF = /^[A-Za-z0-9_][A-Za-z0-9._/+@-]{0,254}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
// distribution/reference; the host of the registry is required.
const IDENTIFIER =
  /^(?:oci:\/\/)?(?<host>localhost|[^/]*[.:][^/]*|localhost:\d+)\/(?<repository>[a-z0-9]+(?:(?:[._]|__|-+|\/)[a-z0-9]+)*)(?::(?<tag>\w[\w.-]{0,127}))?(?:@(?<digest>sha256:[0-9a-f]{64}))?$/;

/** The host of a package or redirect is not listed. */
class UnlistedHost extends FetchError {}

/**
 * Returns where the content of a skill or plugin comes from: the first package, among the first 50, at a host that may
 * be contacted; null if the only problem is that no package's host is listed.
 *
 * @param document JSON text.
 * @throws FetchError with the problem of the first package at a listed host, if there is no package to fetch.
 */
export function referenceOf(document: string, rules: FetchRules): ContentReference | null {
  let isUnlisted = false;
  let problem: FetchError | undefined;
  for (const item of elements(member(JSON.parse(document), 'packages')).slice(0, MAX_PACKAGES))
    try {
      return packageReference(item, rules);
    } catch (error) {
      if (!(error instanceof FetchError)) throw error;
      if (error instanceof UnlistedHost) isUnlisted = true;
      else problem ??= error;
    }
  if (isUnlisted && problem === undefined) return null;
  throw problem ?? new FetchError('The document has no packages');
}

function packageReference(item: unknown, rules: FetchRules): ContentReference {
  const field = (key: string): string | undefined => {
    const value = member(item, key);
    if (typeof value === 'string' && value.length > MAX_FIELD)
      throw new FetchError(`The ${key} of the package has more than ${MAX_FIELD} characters`);
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  return field('registryType') === 'oci' ? ociReference(field, rules) : gitReference(field, rules);
}

type Field = (key: string) => string | undefined;

function gitReference(field: Field, rules: FetchRules): GitReference {
  const url = parseHttpUrl(field('url'));
  if (!url || url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new FetchError('The git package must have an http or https url without credentials or query');
  checkHost(url, rules);
  const [commit, ref] = [field('commit'), field('ref')];
  if (commit !== undefined && !COMMIT.test(commit))
    throw new FetchError('The commit of the git package must have 40 or 64 lower-case hexadecimal digits');
  if (ref !== undefined && !REF.test(ref))
    throw new FetchError('The ref of the git package is not the name of a tag or branch');
  const pin = commit ?? (ref !== undefined && COMMIT.test(ref) ? ref : undefined);
  const folder = (field('subfolder') ?? '').replace(/^(\.?\/)+|\/+$/g, '').replace(/^\.$/, '');
  if (folder.split('/').some((segment) => ['.', '..'].includes(segment)) || /\p{Cc}/u.test(folder))
    throw new FetchError('The subfolder of the git package is not a path inside the repository');
  return { kind: 'git', url: url.href, ref, pin, folder };
}

function ociReference(field: Field, rules: FetchRules): OciReference {
  const {
    host = '',
    repository = '',
    tag,
    digest,
  } = IDENTIFIER.exec(field('identifier') ?? '')?.groups ?? {};
  if (repository === '')
    throw new FetchError('The identifier of the oci package must be host/repository, with a tag or digest');
  const url = parseHttpUrl(`https://${host}/`);
  if (!url || parseHostAndPort(host) === undefined)
    throw new FetchError('The identifier of the oci package does not begin with a host');
  checkHost(url, rules);
  const named = field('digest');
  if (named !== undefined && !DIGEST.test(named))
    throw new FetchError('The digest of the oci package must be sha256: with 64 hexadecimal digits');
  if (named !== undefined && digest !== undefined && named !== digest)
    throw new FetchError('The digest of the oci package differs from its identifier');
  return { kind: 'oci', host: url.host, repository, tag: tag ?? 'latest', pin: named ?? digest };
}

/** @throws FetchError if fetching content from this URL is not allowed. */
export function checkHost(url: URL, { fetchHosts, insecureUrls }: FetchRules): void {
  if (!isListed(url, fetchHosts)) throw new UnlistedHost(`content.fetch.hosts does not include ${url.host}`);
  if (isInsecure(url) && !insecureUrls)
    throw new FetchError(`${url.origin}: content is fetched over https only`);
}

/** Whether the host is listed: with this port, or without a port for all ports. */
export function isListed(url: URL, hosts: readonly string[]): boolean {
  return namesOf(url).some((name) => hosts.includes(name));
}

/** Returns the account for the host; an account for its port takes precedence. */
export function accountAt(
  url: URL,
  { fetchAccounts }: Pick<FetchRules, 'fetchAccounts'>,
): HostAccount | undefined {
  return namesOf(url).flatMap((name) => fetchAccounts.find(({ host }) => host === name) ?? [])[0];
}

/** The names under which a host may be listed. */
function namesOf({ protocol, hostname, port }: URL): [withPort: string, host: string] {
  return [`${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`, hostname];
}

/** Whether a registry may be contacted without TLS. */
export function mayBePlain(host: string, { insecureUrls }: Pick<FetchRules, 'insecureUrls'>): boolean {
  return insecureUrls || isLoopbackHost(new URL(`http://${host}/`).hostname);
}

/** Returns a reference for display and for the audit trail. */
export function describeReference(reference: ContentReference, pin: string): object {
  if (reference.kind === 'oci')
    return { oci: `${reference.host}/${reference.repository}`, tag: reference.tag, digest: pin };
  const { url, ref, folder } = reference;
  return {
    git: url,
    ...(ref === undefined ? {} : { ref }),
    commit: pin,
    ...(folder === '' ? {} : { subfolder: folder }),
  };
}
