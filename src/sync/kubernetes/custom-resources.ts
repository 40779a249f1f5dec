/** A custom resource whose objects become server entries. */
export interface Resource {
  readonly kind: string;
  readonly plural: string;
  /** Whether `spec` is needed in addition to the metadata. */
  readonly needsSpec: boolean;
}

export const API_GROUP = 'toolhive.stacklok.dev';

/** API versions in order of preference. Both define the same fields. */
export const API_VERSIONS = ['v1beta1', 'v1alpha1'] as const;

/** The resources in order of precedence: if objects share a namespace and name, the first kind wins. */
export const RESOURCES: readonly Resource[] = [
  { kind: 'MCPServer', plural: 'mcpservers', needsSpec: true },
  { kind: 'VirtualMCPServer', plural: 'virtualmcpservers', needsSpec: false },
  { kind: 'MCPRemoteProxy', plural: 'mcpremoteproxies', needsSpec: false },
];

/** The objects of a resource in one namespace or in all namespaces. */
export interface ResourceCollection {
  readonly plural: string;
  /** Null for all namespaces. */
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

/** Describes a collection for messages, such as `mcpservers in the namespace tools`. */
export function describeCollection({
  plural,
  namespace,
}: Pick<ResourceCollection, 'plural' | 'namespace'>): string {
  return `${plural} in ${namespace === null ? 'all namespaces' : `the namespace ${namespace}`}`;
}

/**
 * Returns whether one resource version of a collection is earlier than another. Resource versions are increasing
 * decimal numbers (Kubernetes API conventions; guaranteed to clients since v1.35). Returns false for any other format.
 */
export function isEarlierVersion(one: string, other: string): boolean {
  return isNumber(one) && isNumber(other) && BigInt(one) < BigInt(other);
}

function isNumber(version: string): boolean {
  return /^\d{1,40}$/.test(version);
}
