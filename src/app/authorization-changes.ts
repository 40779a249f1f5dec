import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { RecordChange } from '../audit/audit-trail.js';
import { AppliedAuthorization } from '../authz/applied-authorization.entity.js';
import { authorizationForm } from '../authz/policy-in-force.js';
import type { AuthConfig } from '../config/config.js';

const ID = 1;

/** What the audit trail knows of who may do what (contract §9): replicas that apply the same record it once. */
@Injectable()
export class AuthorizationChanges {
  /** Compares with what was applied last; inside the transaction of its caller, which holds the lock of the catalogue. */
  async apply(
    manager: EntityManager,
    auth: AuthConfig,
    record: RecordChange,
  ): Promise<'created' | 'changed' | 'unchanged'> {
    const after = JSON.parse(JSON.stringify(authorizationForm(auth))) as ReturnType<typeof authorizationForm>;
    const before = (await manager.findOneBy(AppliedAuthorization, { id: ID }))?.form;
    if (isDeepStrictEqual(before, after)) return 'unchanged';
    await manager.save(AppliedAuthorization, { id: ID, form: after });
    // Nothing was there before, and nobody is kept from anything now: there is nothing to tell.
    if (!before && after.mode !== 'full') return 'unchanged';
    await record({
      action: 'config.apply',
      target: { type: 'configuration', name: 'auth.authz' },
      claims: [],
      change: { ...(before ? { before } : {}), after },
    });
    return before ? 'changed' : 'created';
  }
}
