import { Module } from '@nestjs/common';
import { ClaimSetCleanup } from './claim-set-cleanup.js';
import { ClaimSetsRepository } from './claim-sets.repository.js';
import { UnusedClaimSets } from './unused-claim-sets.queries.js';

@Module({
  providers: [ClaimSetsRepository, UnusedClaimSets, ClaimSetCleanup],
  exports: [ClaimSetsRepository],
})
export class ClaimSetsModule {}
