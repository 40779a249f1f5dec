/** A custom resource whose objects become servers. */
export interface Resource {
  readonly kind: string;
  readonly plural: string;
  /** Whether more than the metadata of its objects is used. */
  readonly needsSpec: boolean;
}

export const API_GROUP = 'toolhive.stacklok.dev';

/** The served versions, the preferred one first; their fields are the same. */
export const API_VERSIONS = ['v1beta1', 'v1alpha1'] as const;

/** Of two objects with one namespace and name, the one whose kind comes first here is the entry. */
export const RESOURCES: readonly Resource[] = [
  { kind: 'MCPServer', plural: 'mcpservers', needsSpec: true },
  { kind: 'VirtualMCPServer', plural: 'virtualmcpservers', needsSpec: false },
  { kind: 'MCPRemoteProxy', plural: 'mcpremoteproxies', needsSpec: false },
];

/** What is listed and watched: the objects of a resource, in one namespace or in all of them. */
export interface ResourceCollection {
  readonly plural: string;
  /** Null: all of them. */
  readonly namespace: string | null;
  readonly path: string;
  readonly needsSpec: boolean;
}

export function collectionOf(
  { plural, needsSpec }: Resource,
  namespace: string | null,
  version: string,
): ResourceCollection {
  const inside = namespace === null ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return { plural, namespace, path: `/apis/${API_GROUP}/${version}${inside}/${plural}`, needsSpec };
}

/** The same for people. */
export function describeCollection({
  plural,
  namespace,
}: Pick<ResourceCollection, 'plural' | 'namespace'>): string {
  return `${plural} in ${namespace === null ? 'all namespaces' : `the namespace ${namespace}`}`;
}

/**
 * Whether one resource version of a collection is earlier than another one. They are decimal numbers that only grow (API
 * conventions of Kubernetes, and for clients to rely on since v1.35); of anything else nothing is known.
 */
export function isEarlierVersion(one: string, other: string): boolean {
  return isNumber(one) && isNumber(other) && BigInt(one) < BigInt(other);
}

function isNumber(version: string): boolean {
  return /^\d{1,40}$/.test(version);
}
