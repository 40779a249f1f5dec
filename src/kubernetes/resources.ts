/** A custom resource whose objects become servers. */
export interface Resource {
  readonly kind: string;
  readonly plural: string;
}

export const API_GROUP = 'toolhive.stacklok.dev';

/** The served versions, the wanted one first; their fields are the same. */
export const API_VERSIONS = ['v1beta1', 'v1alpha1'] as const;

/** Of two objects with one namespace and name, the one whose kind stands first here is the entry. */
export const RESOURCES: readonly Resource[] = [
  { kind: 'MCPServer', plural: 'mcpservers' },
  { kind: 'VirtualMCPServer', plural: 'virtualmcpservers' },
  { kind: 'MCPRemoteProxy', plural: 'mcpremoteproxies' },
];
