const MIB = 1024 * 1024;

/** What one visit to a repository may take. */
export interface GitLimits {
  /** For the question which commit there is. */
  readonly askMs: number;
  /** For everything together. */
  readonly totalMs: number;
  /** What may be on the disk. */
  readonly diskBytes: number;
  /** What is read of the file. */
  readonly fileBytes: number;
}

export const LIMITS: GitLimits = {
  askMs: 60_000,
  totalMs: 300_000,
  diskBytes: 256 * MIB,
  fileBytes: 64 * MIB,
};
