/** A custom resource whose objects become server entries. */
export interface Resource {
  readonly kind: string;
  readonly plural: string;
  /** Whether `spec` is needed, not only the metadata. */
  readonly needsSpec: boolean;
}

export const API_GROUP = 'toolhive.stacklok.dev';

/** In order of preference; their fields are the same. */
export const API_VERSIONS = ['v1beta1', 'v1alpha1'] as const;

/** If several kinds have an object with the same namespace and name, the first kind wins. */
export const RESOURCES: readonly Resource[] = [
  { kind: 'MCPServer', plural: 'mcpservers', needsSpec: true },
  { kind: 'VirtualMCPServer', plural: 'virtualmcpservers', needsSpec: false },
  { kind: 'MCPRemoteProxy', plural: 'mcpremoteproxies', needsSpec: false },
];

/** The objects of a resource in one namespace or in all of them. */
export interface ResourceCollection {
  readonly plural: string;
  /** Null: all namespaces. */
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

/** For messages: `mcpservers in the namespace tools`. */
export function describeCollection({
  plural,
  namespace,
}: Pick<ResourceCollection, 'plural' | 'namespace'>): string {
  return `${plural} in ${namespace === null ? 'all namespaces' : `the namespace ${namespace}`}`;
}

/**
 * Whether one resource version of a collection is earlier than another. Resource versions are increasing decimal numbers
 * (Kubernetes API conventions; clients may rely on it since v1.35). False for anything else.
 */
export function isEarlierVersion(one: string, other: string): boolean {
  return isNumber(one) && isNumber(other) && BigInt(one) < BigInt(other);
}

function isNumber(version: string): boolean {
  return /^\d{1,40}$/.test(version);
}
