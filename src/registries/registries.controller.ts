import { Body, Controller, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Loaded, Route } from '../auth/route.js';
import { RegistryBody, RegistrySettings } from '../config/registry-settings.dto.js';
import type { JsonText } from '../http/json-answers.js';
import { ResourceListParameters } from '../http/lists.dto.js';
import { type Preconditions, RequestPreconditions } from '../http/preconditions.js';
import { CurrentRequest, type RequestContext } from '../http/request-context.js';
import { DnsNamePipe } from '../http/validation.pipe.js';
import { RegistryAnswer, RegistryAnswerList } from './registries.responses.js';
import { RegistriesService } from './registries.service.js';
import { Registry } from './registry.entity.js';

/** Errors for the settings of a registry, whether they would be stored or compared. */
export const REGISTRY_SETTINGS_ERRORS = [
  'invalid_name',
  'unknown_source',
  'path_not_allowed',
  'too_many_claims',
  'claims_required',
  'claims_not_subset',
  'settings_too_long',
  'config_only',
] as const;

@ApiTags('registries')
@Controller('v1/registries')
export class RegistriesController {
  constructor(private readonly registries: RegistriesService) {}

  @Route('GET', '', {
    access: 'registryListing',
    audit: 'registry.list',
    operationId: 'listRegistries',
    summary: 'Lists the registries visible to the caller, in configuration order',
    answer: RegistryAnswerList,
    errors: ['invalid_parameter', 'invalid_cursor'],
  })
  list(@CurrentCaller() caller: Caller, @Query() query: ResourceListParameters): Promise<JsonText> {
    return this.registries.list(caller, query);
  }

  @Route('GET', ':name', {
    access: 'registryListing',
    audit: 'registry.read',
    loads: { resource: 'registry', use: 'read' },
    operationId: 'getRegistry',
    summary: 'Returns one registry',
    answer: RegistryAnswer,
    errors: [],
  })
  get(@CurrentCaller() caller: Caller, @Loaded() registry: Registry): JsonText {
    return this.registries.get(caller, registry);
  }

  @Route('PUT', ':name', {
    access: 'manageRegistries',
    audit: 'registry.update',
    loads: { resource: 'registry', use: 'put' },
    body: RegistrySettings,
    operationId: 'putRegistry',
    summary: 'Creates a registry or replaces its settings',
    answer: RegistryAnswer,
    ifMatch: true,
    errors: [...REGISTRY_SETTINGS_ERRORS, 'too_many_registries'],
  })
  put(
    @CurrentCaller() caller: Caller,
    @Param('name', DnsNamePipe) name: string,
    @Body() body: RegistryBody,
    @RequestPreconditions() preconditions: Preconditions,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.registries.put(caller, name, body, preconditions, context);
  }

  @Route('DELETE', ':name', {
    access: 'manageRegistries',
    audit: 'registry.delete',
    loads: { resource: 'registry', use: 'change' },
    operationId: 'deleteRegistry',
    summary: 'Deletes a registry; its sources stay',
    answer: null,
    ifMatch: true,
    errors: [],
  })
  delete(
    @CurrentCaller() caller: Caller,
    @Param('name') name: string,
    @RequestPreconditions() preconditions: Preconditions,
    @CurrentRequest() context: RequestContext,
  ): Promise<void> {
    return this.registries.remove(caller, name, preconditions, context);
  }
}
