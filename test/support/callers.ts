/** The people of the tests, as the claims of their tokens. Their roles are those of `aService({ mode: 'full' })`. */

/** Bypasses claims. */
export const SUPER_ADMIN = { sub: 'sigrid', role: 'super-admin' };
/** Manages the sources and registries of Acme. */
export const ACME_ADMIN = { sub: 'ada', org: 'acme', role: 'admin' };
/** Publishes for the platform team of Acme. */
export const ACME_WRITER = { sub: 'wim', org: 'acme', team: 'platform', role: 'writer' };
/** Of the platform team of Acme, without a role. */
export const ACME_PLATFORM = { sub: 'pia', org: 'acme', team: 'platform' };
/** Of another team of Acme, without a role. */
export const ACME_DATA = { sub: 'dirk', org: 'acme', team: 'data' };
/** Manages the sources and registries of another organisation. */
export const CONTOSO_ADMIN = { sub: 'carl', org: 'contoso', role: 'admin' };
/** Of another organisation, without a role. */
export const CONTOSO_READER = { sub: 'cleo', org: 'contoso' };
/** Has a valid token that says nothing but who it is. */
export const NOBODY = { sub: 'nemo' };
