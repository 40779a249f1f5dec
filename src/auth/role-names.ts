/** spec §2.3. Apart from the decorators of routes: whoever judges claims offline needs no framework. */
export const ROLES = ['superAdmin', 'manageSources', 'manageRegistries', 'manageEntries'] as const;
export type Role = (typeof ROLES)[number];
