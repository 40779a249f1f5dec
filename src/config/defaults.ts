/**
 * What settings of the file, of the environment and of the command line are where they are absent (contract §2). Those of sources stand in
 * `source-kinds/kind-defaults.ts`, those of `telemetry` in `opentelemetry/telemetry-config.ts`, the notice of a stop in `app/drain.ts`.
 */
export const DEFAULTS = {
  auth: {
    mode: 'oauth',
    realm: 'mcp-registry',
    scopesSupported: ['mcp-registry:read', 'mcp-registry:write'],
  },
  policy: { arrayValues: 'all', unlabeled: 'allow', registryListing: 'managers' },
  database: { host: 'localhost', port: 5432, poolMax: 10 },
  addresses: { public: ':8080', internal: ':8081' },
  dataDirectory: './data',
  cors: { origins: ['*'] },
  readOnly: false,
  adminAllowPrivateIP: false,
  audit: { reads: false, retention: '90d' },
  log: { level: 'info' },
  limits: {
    searchesPerCaller: 2,
    requestsInFlight: 1_000,
    connections: 2_000,
    claimSetsPerSource: 10_000,
    mebibytesPerFile: 64,
    /** Longer than balancers keep theirs, mostly for a minute: what they take for open must not just have been closed. */
    keepAlive: '65s',
  },
} as const;
