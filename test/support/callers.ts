/** The callers of the tests, as token claims. Their roles match `aService({ mode: 'full' })`. */

/** Bypasses claims. */
export const SUPER_ADMIN = { sub: 'sigrid', role: 'super-admin' };
/** Manages Acme's sources and registries. */
export const ACME_ADMIN = { sub: 'ada', org: 'acme', role: 'admin' };
/** Publishes for Acme's platform team. */
export const ACME_WRITER = { sub: 'wim', org: 'acme', team: 'platform', role: 'writer' };
/** A caller in Acme's platform team, without a role. */
export const ACME_PLATFORM = { sub: 'pia', org: 'acme', team: 'platform' };
/** A caller in another Acme team, without a role. */
export const ACME_DATA = { sub: 'dirk', org: 'acme', team: 'data' };
/** Manages another organization's sources and registries. */
export const CONTOSO_ADMIN = { sub: 'carl', org: 'contoso', role: 'admin' };
/** A caller in another organization, without a role. */
export const CONTOSO_READER = { sub: 'cleo', org: 'contoso' };
/** Has a valid token with nothing but a subject. */
export const NOBODY = { sub: 'nemo' };
