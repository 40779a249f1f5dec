/**
 * What settings of the file, of the environment and of the command line are where they are absent (contract §2). Those of sources stand in
 * `source-kinds/kind-defaults.ts`.
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
  telemetry: { sampleRatio: 0.1, metricIntervalMs: 60_000 },
  web: { enabled: true },
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
  /** How long balancers have to see that the server is not ready any more. Nobody waits for that who presses Ctrl-C. */
  shutdown: { noticeMs: 5_000, noticeOnTerminalMs: 0 },
} as const;

/**
 * How long new requests are answered after the signal to stop (contract §1).
 *
 * @param noticeMs what the configuration says.
 * @param isTerminal whether somebody runs the server by hand.
 */
export function noticeOf(noticeMs: number | null, isTerminal: boolean): number {
  const { shutdown } = DEFAULTS;
  return noticeMs ?? (isTerminal ? shutdown.noticeOnTerminalMs : shutdown.noticeMs);
}
