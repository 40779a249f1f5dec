/** What settings of sources are where they are absent, by kind (contract §2). */
export const DEFAULTS = {
  git: { path: 'registry.json' },
  api: { timeoutMs: 10_000 },
  kubernetes: { relistInterval: '1h' },
} as const;
