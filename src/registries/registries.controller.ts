import { Body, Controller, Delete, Get, HttpCode, Param, Put, Query, Res } from '@nestjs/common';
import {
  ApiBody,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import type { Response } from 'express';
import type { Caller } from '../auth/caller.js';
import { CurrentCaller } from '../auth/current-caller.js';
import { ListsRegistries, RequiresRole } from '../auth/route-access.js';
import { Loaded, ResourceRoute } from '../auth/route-resource.js';
import { RegistrySettings } from '../config/registry-settings.dto.js';
import { AdminListParameters } from '../http/lists/admin-list.dto.js';
import { ApiErrors } from '../http/openapi/api-errors.js';
import { TakesBody } from '../http/input/body.js';
import { DnsNamePipe } from '../http/input/dns-name.pipe.js';
import { RequestPreconditions } from '../http/preconditions.decorator.js';
import type { Preconditions } from '../http/preconditions.js';
import type { JsonText } from '../http/json-answers.js';
import { type PutBody, PutBodyPipe } from '../http/input/put-body.pipe.js';
import { RegistryAnswer, RegistryAnswerList } from './registries.responses.js';
import { RegistriesService } from './registries.service.js';
import { Registry } from './registry.entity.js';

@ApiTags('registries')
@Controller('v1/registries')
@ApiErrors('database_unavailable', 'provider_unavailable')
export class RegistriesController {
  constructor(private readonly registries: RegistriesService) {}

  @Get()
  @ListsRegistries()
  @ApiOperation({ summary: 'The registries this caller may know of, in the order of the configuration' })
  @ApiOkResponse({ type: RegistryAnswerList })
  @ApiErrors('invalid_parameter', 'invalid_cursor')
  list(@CurrentCaller() caller: Caller, @Query() query: AdminListParameters): Promise<JsonText> {
    return this.registries.list(caller, query);
  }

  @Get(':name')
  @ListsRegistries()
  @ResourceRoute({ resource: 'registry', use: 'read' })
  @ApiOperation({ summary: 'One registry' })
  @ApiOkResponse({ type: RegistryAnswer })
  @ApiErrors('registry_not_found')
  get(@Loaded() registry: Registry): JsonText {
    return this.registries.get(registry);
  }

  @Put(':name')
  @TakesBody()
  @RequiresRole('manageRegistries')
  @ResourceRoute({ resource: 'registry', use: 'put' })
  @ApiOperation({ summary: 'Creates a registry, or replaces its settings' })
  @ApiBody({ type: RegistrySettings })
  @ApiOkResponse({ type: RegistryAnswer, description: 'Replaced' })
  @ApiCreatedResponse({ type: RegistryAnswer, description: 'Created' })
  @ApiErrors(
    'role_required',
    'read_only',
    'invalid_body',
    'invalid_name',
    'unknown_source',
    'claims_required',
    'claims_not_subset',
    'config_managed',
    'registry_not_found',
    'precondition_failed',
  )
  async put(
    @CurrentCaller() caller: Caller,
    @Param('name', DnsNamePipe) name: string,
    @Body(new PutBodyPipe(RegistrySettings, { equal: ['name', 'origin', 'createdAt', 'updatedAt'] }))
    body: unknown,
    @RequestPreconditions() preconditions: Preconditions,
    @Res({ passthrough: true }) response: Response,
  ): Promise<JsonText> {
    const { created, answer } = await this.registries.put(
      caller,
      name,
      body as PutBody<RegistrySettings>,
      preconditions,
    );
    response.status(created ? 201 : 200);
    return answer;
  }

  @Delete(':name')
  @RequiresRole('manageRegistries')
  @HttpCode(204)
  @ResourceRoute({ resource: 'registry', use: 'change' })
  @ApiOperation({ summary: 'Deletes a registry; its sources stay' })
  @ApiNoContentResponse()
  @ApiErrors('role_required', 'read_only', 'config_managed', 'registry_not_found', 'precondition_failed')
  delete(
    @CurrentCaller() caller: Caller,
    @Param('name') name: string,
    @RequestPreconditions() preconditions: Preconditions,
  ): Promise<void> {
    return this.registries.remove(caller, name, preconditions);
  }
}
