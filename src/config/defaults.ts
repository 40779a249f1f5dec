/**
 * Defaults for file, environment and command line (reference/configuration). Defaults for sources are in `source-kinds/kinds.ts`.
 */
export const DEFAULTS = {
  auth: {
    mode: 'oauth',
    realm: 'mcp-registry',
    introspection: 'fallback',
    idTokens: 'refuse',
    clockTolerance: '0s',
    scopesSupported: ['mcp-registry:read', 'mcp-registry:write'],
  },
  policy: { arrayValues: 'all', unlabeled: 'allow', registryListing: 'managers' },
  database: { host: 'localhost', port: 5432, poolMax: 10 },
  addresses: { public: ':8080', internal: ':8081' },
  dataDirectory: './data',
  cors: { origins: ['*'] },
  readOnly: false,
  adminAllowPrivateIP: false,
  adminOpenAccess: false,
  telemetry: { sampleRatio: 0.1, metricIntervalMs: 60_000 },
  web: { enabled: true, title: 'Registry' },
  audit: { reads: false, retention: '90d' },
  webhooks: { retryFor: '24h' },
  admissionWebhooks: { timeout: '5s', onFailure: 'hold' },
  log: { level: 'info' },
  limits: {
    searchesPerCaller: 2,
    requestsInFlight: 1_000,
    connections: 2_000,
    claimSetsPerSource: 10_000,
    mebibytesPerFile: 64,
    versionsPerEntry: 1_000,
    bytesPerEntry: '64MiB',
    publisherMeta: '256KiB',
    apiSources: 1_000,
    apiRegistries: 1_000,
    changesPerMinute: 600,
    searchIndexBytes: '128MiB',
    /** Longer than the 60 s that most load balancers use, so that they never reuse a connection we have just closed. */
    keepAlive: '65s',
  },
  content: { maxBytesPerVersion: '16MiB', maxBytes: '10GiB' },
  /** Gives load balancers time to notice that the server is no longer ready. Not needed after Ctrl-C in a terminal. */
  shutdown: { noticeMs: 5_000, noticeOnTerminalMs: 0 },
} as const;

/**
 * How long new requests are accepted after the stop signal (reference/commands), in milliseconds.
 *
 * @param noticeMs The configured value.
 * @param isTerminal Whether the server runs in a terminal.
 */
export function noticeOf(noticeMs: number | null, isTerminal: boolean): number {
  const { shutdown } = DEFAULTS;
  return noticeMs ?? (isTerminal ? shutdown.noticeOnTerminalMs : shutdown.noticeMs);
}
