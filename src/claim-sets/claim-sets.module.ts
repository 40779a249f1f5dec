import { Module } from '@nestjs/common';
import { AuthzModule } from '../authz/authz.module.js';
import { ClaimSetCleanup } from './claim-set-cleanup.js';
import { ClaimSetsRepository } from './claim-sets.repository.js';
import { ReachableClaimSets } from './reachable-claim-sets.queries.js';
import { UnusedClaimSets } from './unused-claim-sets.queries.js';

@Module({
  imports: [AuthzModule],
  providers: [ClaimSetsRepository, ReachableClaimSets, UnusedClaimSets, ClaimSetCleanup],
  exports: [ClaimSetsRepository, ReachableClaimSets],
})
export class ClaimSetsModule {}
