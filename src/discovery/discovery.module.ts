import { type DynamicModule, Module } from '@nestjs/common';
import type { AuthConfig } from '../config/config.js';
import { oauthInUse } from '../config/oauth-in-use.js';
import { DiscoveryController, PROTECTED_RESOURCE } from './discovery.controller.js';

@Module({})
export class DiscoveryModule {
  static with(auth: AuthConfig): DynamicModule {
    return {
      module: DiscoveryModule,
      controllers: [DiscoveryController],
      providers: [{ provide: PROTECTED_RESOURCE, useValue: oauthInUse(auth) ?? null }],
    };
  }
}
