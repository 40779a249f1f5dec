/** Who sent this request. Built once by the AuthGuard and passed on as a value. */
export interface Caller {
  /** The token's `sub`; null when there was no token, or the token has no subject. */
  readonly subject: string | null;
  /** The client that the token was issued to, where it says so (RFC 9068 `client_id`, OpenID Connect `azp`). */
  readonly client?: string;
  /** Those of the token that count: every one, or what the provider's `claims` make of them. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Was there a token to identify the caller? */
  readonly identified: boolean;
  /** The name of the registry's key that the caller came with in place of a token. */
  readonly key?: string;
}

/** Every caller in anonymous mode (spec §1.2), and those without a token on one of the configured public paths. */
export const UNIDENTIFIED_CALLER: Caller = Object.freeze({
  subject: null,
  claims: Object.freeze({}),
  identified: false,
});
