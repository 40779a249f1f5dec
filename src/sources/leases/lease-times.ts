// How long a lease is held without being renewed, after which another replica may take it, and how often it is renewed.

/** For a sync. */
export const SYNC_LEASE = { ms: 15_000, renewMs: 5_000 } as const;
/** For watching a cluster. */
export const WATCH_LEASE = { ms: 10_000, renewMs: 3_000 } as const;
