import type { ChangeEvent } from '../audit/audit-trail.js';
import type { Claims } from '../claims/claims.js';
import type { VersionName } from '../documents/entry-types.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { type HoldReason, shownReasons } from './hold-reason.js';

/**
 * Returns the audit event about a version that admission held, admitted or rejected.
 *
 * @param kind of the source; undefined for a synced one.
 * @param claims of the version; null if a block decided: only super-admins see blocks and the versions they hold.
 */
export function itemEvent(
  action: 'admission.hold' | 'admission.admit' | 'admission.reject',
  { type, name, version, digest }: VersionName & { readonly digest: Buffer },
  { name: source, kind }: { readonly name: string; readonly kind?: string },
  claims: Claims | null,
  reasons?: readonly HoldReason[],
): ChangeEvent {
  const shown = reasons && { reasons: shownReasons(reasons) };
  return {
    action,
    target: { type, name, version, source },
    ...(claims === null ? { role: 'superAdmin' } : kind === MANAGED_KIND ? {} : { role: 'manageSources' }),
    claims: claims === null ? [] : [claims],
    change: { after: { sha256: digest.toString('hex'), ...shown } },
  };
}
