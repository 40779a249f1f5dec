import type { Role } from '../api/types.js';
import type { Session } from './session.js';

/**
 * Is this worth offering? What somebody may really do, the API says when they do it. Without tokens there are no roles, and
 * nothing to go by.
 */
export function offers({ settings, me }: Session, role: Role | 'any' | 'caller'): boolean {
  if (settings.mode === 'anonymous') return true;
  if (!me) return false;
  if (role === 'caller' || me.roles.includes('superAdmin')) return true;
  return role === 'any' ? me.roles.length > 0 : me.roles.includes(role);
}
