/** Who sent this request. Built once by the AuthGuard and passed on as a value. */
export interface Caller {
  /** The token's `sub`; null when nobody had to say who they are. */
  readonly subject: string | null;
  /** Every claim of the token. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Everybody, in anonymous mode (spec §1.2). */
export const ANONYMOUS_CALLER: Caller = Object.freeze({ subject: null, claims: Object.freeze({}) });
