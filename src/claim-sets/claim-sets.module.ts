import { Module } from '@nestjs/common';
import { ClaimSetsRepository } from './claim-sets.repository.js';

@Module({ providers: [ClaimSetsRepository], exports: [ClaimSetsRepository] })
export class ClaimSetsModule {}
