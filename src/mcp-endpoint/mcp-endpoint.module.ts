import { Module } from '@nestjs/common';
import { CatalogModule } from '../catalog/catalog.module.js';
import { ContentModule } from '../content/content.module.js';
import { VisibilityModule } from '../visibility/visibility.module.js';
import { McpEndpoint } from './mcp-endpoint.js';
import { McpController, McpOrigins } from './mcp.controller.js';
import { Skills } from './skills.js';
import { Tools } from './tools.js';

/** Serves each registry as an MCP server (reference/mcp). */
@Module({
  imports: [CatalogModule, ContentModule, VisibilityModule],
  controllers: [McpController],
  providers: [McpEndpoint, McpOrigins, Skills, Tools],
})
export class McpEndpointModule {}
