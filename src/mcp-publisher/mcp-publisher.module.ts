import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { AuthzModule } from '../authz/authz.module.js';
import { EntriesModule } from '../entries/entries.module.js';
import { RegistriesModule } from '../registries/registries.module.js';
import { PublisherGate } from './publisher-gate.js';
import { PublisherController } from './publisher.controller.js';
import { PublisherService } from './publisher.service.js';
import { UnsupportedWritesController } from './unsupported-writes.controller.js';

/** Lets MCP Registry clients publish through a registry. */
@Module({
  imports: [AuthModule, AuthzModule, EntriesModule, RegistriesModule],
  // The order matters: the second controller matches every remaining path.
  controllers: [PublisherController, UnsupportedWritesController],
  providers: [PublisherGate, PublisherService],
  exports: [PublisherGate],
})
export class McpPublisherModule {}
