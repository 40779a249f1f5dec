/** Who sent this request. Built once by the AuthGuard and passed on as a value. */
export interface Caller {
  /** The token's `sub`; null when nobody had to say who they are, or the token names nobody. */
  readonly subject: string | null;
  /** Every claim of the token. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Was there a token to identify the caller? */
  readonly identified: boolean;
}

/** Everybody in anonymous mode (spec §1.2), and whoever sends no token to one of the configured public paths. */
export const UNIDENTIFIED_CALLER: Caller = Object.freeze({
  subject: null,
  claims: Object.freeze({}),
  identified: false,
});
