import { Module } from '@nestjs/common';
import { ClaimSetCleanup, UnusedClaimSets } from './unused-claim-sets.queries.js';
import { ClaimSetsRepository } from './claim-sets.repository.js';

@Module({
  providers: [ClaimSetsRepository, UnusedClaimSets, ClaimSetCleanup],
  exports: [ClaimSetsRepository],
})
export class ClaimSetsModule {}
