/** Actions of audit events (reference/audit): stable names for filters and collectors. */
export const AUDIT_ACTIONS = [
  'source.create',
  'source.update',
  'source.delete',
  'source.sync',
  'source.validate',
  'source.read',
  'source.list',
  'registry.create',
  'registry.update',
  'registry.delete',
  'registry.read',
  'registry.list',
  'entry.publish',
  'entry.validate',
  'entry.delete',
  'entry.status',
  'entry.claims.update',
  'entry.content',
  'entry.read',
  'entry.list',
  'admission.hold',
  'admission.admit',
  'admission.approve',
  'admission.reject',
  'admission.comment',
  'admission.withdraw',
  'admission.read',
  'block.create',
  'block.update',
  'block.delete',
  'block.read',
  'catalog.read',
  'content.read',
  'access.read',
  'audit.read',
  'auth.refused',
  'request.refused',
  'sync.run',
  'config.apply',
  'webhook.read',
  'webhook.resume',
  'webhook.replay',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Reads of a registry, which are recorded with `audit.reads`. */
export const READ_ACTIONS: readonly AuditAction[] = ['catalog.read', 'content.read'];

/** What a webhook that follows a view is also sent (reference/webhooks): an entry enters the view or leaves it. */
export const VIEW_CHANGES = ['entry.added', 'entry.removed'] as const;
export type ViewChange = (typeof VIEW_CHANGES)[number];

/**
 * Returns the actions that a pattern covers: a single action, all actions of a noun for `noun.*`, or all actions for
 * `*`.
 */
export function matchingActions<Word extends string>(pattern: string, words: readonly Word[]): Word[] {
  if (!pattern.endsWith('*')) return words.filter((word) => word === pattern);
  const beginning = pattern.slice(0, -1);
  return beginning === '' || beginning.endsWith('.')
    ? words.filter((word) => word.startsWith(beginning))
    : [];
}
