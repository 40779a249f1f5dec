import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { DiscoveryController } from './discovery.controller.js';

@Module({ imports: [AuthModule], controllers: [DiscoveryController] })
export class DiscoveryModule {}
