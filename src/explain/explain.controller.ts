import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type Caller, Client, CurrentCaller, CurrentClient } from '../auth/caller.js';
import { AnyCaller, Audited, Loaded, MayBeLong, RequiresRole, ResourceRoute } from '../auth/route.js';
import { WritesNothing } from '../authz/roles.guard.js';
import { Entry } from '../entries/entry.entity.js';
import { TakesBody } from '../http/body.js';
import { JsonText } from '../http/json-answers.js';
import { ApiErrors, ApiOkWithEtag } from '../http/openapi/api-answers.js';
import { Registry } from '../registries/registry.entity.js';
import {
  AccessPreview,
  ExplainBody,
  Explanation,
  PreviewBody,
  RegistryAccessQuery,
  WhoHasAccess,
} from './explain.dto.js';
import { ExplainService } from './explain.service.js';
import { PreviewService } from './preview.service.js';
import { WhoService } from './who.service.js';

@ApiTags('access')
@Controller('v1/access')
@ApiErrors('database_unavailable', 'database_timeout')
export class AccessController {
  constructor(
    private readonly explanations: ExplainService,
    private readonly previews: PreviewService,
  ) {}

  @Post('explain')
  @HttpCode(200)
  @TakesBody()
  @AnyCaller()
  @Audited('access.read')
  @WritesNothing(() => true)
  @ApiOperation({
    operationId: 'explainAccess',
    summary: 'Explain why a caller may or may not see, manage or publish an entry; changes nothing',
  })
  @ApiBody({ type: ExplainBody })
  @ApiOkResponse({ type: Explanation })
  @ApiErrors('too_many_claims', 'role_required', 'too_many_requests')
  explain(
    @CurrentCaller() caller: Caller,
    @CurrentClient() client: Client,
    @Body() { as, ...question }: ExplainBody,
  ): Promise<Explanation> {
    return this.explanations.explain(caller, client, question, as);
  }

  @Post('preview')
  @HttpCode(200)
  @TakesBody()
  @RequiresRole('manageRegistries')
  @MayBeLong('always')
  @Audited('access.read')
  @WritesNothing(() => true)
  @ApiOperation({
    operationId: 'previewAccess',
    summary: 'Preview the first page and the entry counts for a caller with other claims; changes nothing',
  })
  @ApiBody({ type: PreviewBody })
  @ApiOkResponse({ type: AccessPreview })
  @ApiErrors('too_many_claims', 'registry_not_found')
  preview(
    @CurrentCaller() caller: Caller,
    @CurrentClient() client: Client,
    @Body() body: PreviewBody,
  ): Promise<JsonText> {
    return this.previews.preview(caller, client, body);
  }
}

@ApiTags('access')
@Controller('v1')
@ApiErrors('database_unavailable', 'database_timeout')
export class WhoController {
  constructor(private readonly who: WhoService) {}

  @Get('entries/:type/:name/access')
  @Audited('entry.read')
  @RequiresRole('manageEntries')
  @MayBeLong('always')
  @ResourceRoute({ resource: 'entry', use: 'read' })
  @ApiOperation({
    operationId: 'getEntryAccess',
    summary: 'List the claims that grant access to a published entry, by registry, and who manages it',
  })
  @ApiOkWithEtag(WhoHasAccess)
  async ofEntry(@CurrentCaller() caller: Caller, @Loaded() entry: Entry): Promise<JsonText> {
    return new JsonText(JSON.stringify(await this.who.ofEntry(caller, entry)));
  }

  @Get('registries/:name/access')
  @Audited('registry.read')
  @RequiresRole('manageRegistries')
  @MayBeLong('always')
  @ResourceRoute({ resource: 'registry', use: 'read' })
  @ApiOperation({
    operationId: 'getRegistryAccess',
    summary:
      'List the claims that grant access to a registry or one of its entries, what shadows the entry, and who manages it',
  })
  @ApiOkWithEtag(WhoHasAccess)
  @ApiErrors('invalid_parameter', 'entry_not_found')
  async ofRegistry(
    @CurrentCaller() caller: Caller,
    @Loaded() registry: Registry,
    @Query() { type, entry }: RegistryAccessQuery,
  ): Promise<JsonText> {
    const found = entry
      ? await this.who.ofRegistryEntry(caller, registry, { type: type || 'server', name: entry })
      : await this.who.ofRegistry(caller, registry);
    return new JsonText(JSON.stringify(found));
  }
}
