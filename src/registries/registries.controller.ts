import { Body, Controller, Delete, Get, HttpCode, Param, Put, Query, Res } from '@nestjs/common';
import { ApiBody, ApiNoContentResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Audited, ListsRegistries, Loaded, RequiresRole, ResourceRoute } from '../auth/route.js';
import { RegistryBody, RegistrySettings } from '../config/registry-settings.dto.js';
import { TakesBody } from '../http/body.js';
import type { JsonText } from '../http/json-answers.js';
import { ResourceListParameters } from '../http/lists.dto.js';
import { ApiErrors, ApiIfMatch, ApiOkWithEtag, ApiPutAnswer } from '../http/openapi/api-answers.js';
import { type Preconditions, RequestPreconditions } from '../http/preconditions.js';
import { CurrentRequest, type RequestContext } from '../http/request-context.js';
import { DnsNamePipe } from '../http/validation.pipe.js';
import { RegistryAnswer, RegistryAnswerList } from './registries.responses.js';
import { RegistriesService } from './registries.service.js';
import { Registry } from './registry.entity.js';

@ApiTags('registries')
@Controller('v1/registries')
@ApiErrors('database_unavailable', 'database_timeout')
export class RegistriesController {
  constructor(private readonly registries: RegistriesService) {}

  @Get()
  @Audited('registry.list')
  @ListsRegistries()
  @ApiOperation({
    operationId: 'listRegistries',
    summary: 'Lists the registries visible to the caller, in configuration order',
  })
  @ApiOkWithEtag(RegistryAnswerList)
  @ApiErrors('invalid_parameter', 'invalid_cursor')
  list(@CurrentCaller() caller: Caller, @Query() query: ResourceListParameters): Promise<JsonText> {
    return this.registries.list(caller, query);
  }

  @Get(':name')
  @Audited('registry.read')
  @ListsRegistries()
  @ResourceRoute({ resource: 'registry', use: 'read' })
  @ApiOperation({ operationId: 'getRegistry', summary: 'Returns one registry' })
  @ApiOkWithEtag(RegistryAnswer)
  get(@CurrentCaller() caller: Caller, @Loaded() registry: Registry): JsonText {
    return this.registries.get(caller, registry);
  }

  @Put(':name')
  @Audited('registry.update')
  @TakesBody()
  @RequiresRole('manageRegistries')
  @ResourceRoute({ resource: 'registry', use: 'put' })
  @ApiOperation({ operationId: 'putRegistry', summary: 'Creates a registry or replaces its settings' })
  @ApiBody({ type: RegistrySettings })
  @ApiPutAnswer(RegistryAnswer)
  @ApiErrors(
    'read_only',
    'storage_full',
    'invalid_name',
    'unknown_source',
    'path_not_allowed',
    'too_many_claims',
    'claims_required',
    'claims_not_subset',
    'settings_too_long',
    'config_only',
    'too_many_registries',
  )
  async put(
    @CurrentCaller() caller: Caller,
    @Param('name', DnsNamePipe) name: string,
    @Body() body: RegistryBody,
    @RequestPreconditions() preconditions: Preconditions,
    @CurrentRequest() context: RequestContext,
    @Res({ passthrough: true }) response: Response,
  ): Promise<JsonText> {
    const { created, answer } = await this.registries.put(caller, name, body, preconditions, context);
    response.status(created ? 201 : 200);
    return answer;
  }

  @Delete(':name')
  @Audited('registry.delete')
  @RequiresRole('manageRegistries')
  @HttpCode(204)
  @ResourceRoute({ resource: 'registry', use: 'change' })
  @ApiOperation({ operationId: 'deleteRegistry', summary: 'Deletes a registry; its sources stay' })
  @ApiNoContentResponse()
  @ApiIfMatch()
  @ApiErrors('read_only', 'storage_full')
  delete(
    @CurrentCaller() caller: Caller,
    @Param('name') name: string,
    @RequestPreconditions() preconditions: Preconditions,
    @CurrentRequest() context: RequestContext,
  ): Promise<void> {
    return this.registries.remove(caller, name, preconditions, context);
  }
}
