import { Body, Controller, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Loaded, Route } from '../auth/route.js';
import { RegistryBody, RegistrySettings } from '../config/registry-settings.dto.js';
import { Entry } from '../entry-store/entry.entity.js';
import { JsonText } from '../http/json-answers.js';
import { Client, CurrentClient } from '../http/request-context.js';
import { DnsNamePipe } from '../http/validation.pipe.js';
import { REGISTRY_SETTINGS_ERRORS } from '../registries/registries.controller.js';
import { Registry } from '../registries/registry.entity.js';
import { SOURCE_EXAMPLES, SourceBody, SourceSettings } from '../source-kinds/source-settings.dto.js';
import { Source } from '../sources/source.entity.js';
import { SOURCE_SETTINGS_ERRORS } from '../sources/sources.controller.js';
import { AccessChangesService } from './access-changes.service.js';
import {
  AccessChanges,
  AccessPreview,
  ExplainBody,
  Explanation,
  PreviewBody,
  RegistryAccessQuery,
  SourceAccess,
  WhoHasAccess,
} from './explain.dto.js';
import { ExplainService } from './explain.service.js';
import { PreviewService } from './preview.service.js';
import { WhoService } from './who.service.js';

@ApiTags('access')
@Controller('v1/access')
export class AccessController {
  constructor(
    private readonly explanations: ExplainService,
    private readonly previews: PreviewService,
  ) {}

  @Route('POST', 'explain', {
    access: 'caller',
    audit: 'access.read',
    body: ExplainBody,
    writesNothing: true,
    operationId: 'explainAccess',
    summary: 'Explain why a caller can or cannot see, manage or publish an entry; changes nothing',
    answer: Explanation,
    errors: ['too_many_claims', 'role_required', 'too_many_requests'],
  })
  explain(
    @CurrentCaller() caller: Caller,
    @CurrentClient() client: Client,
    @Body() { as, ...question }: ExplainBody,
  ): Promise<Explanation> {
    return this.explanations.explain(caller, client, question, as);
  }

  @Route('POST', 'preview', {
    access: 'manageRegistries',
    audit: 'access.read',
    body: PreviewBody,
    writesNothing: true,
    mayBeLong: 'always',
    operationId: 'previewAccess',
    summary: 'Preview the first page and the entry counts for a caller with other claims; changes nothing',
    answer: AccessPreview,
    errors: ['too_many_claims', 'registry_not_found'],
  })
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
export class WhoController {
  constructor(
    private readonly who: WhoService,
    private readonly changes: AccessChangesService,
  ) {}

  @Route('GET', 'entries/:type/:name/access', {
    access: 'manageEntries',
    audit: 'entry.read',
    loads: { resource: 'entry', use: 'read' },
    mayBeLong: 'always',
    operationId: 'getEntryAccess',
    summary: 'List the claims that grant access to a published entry, by registry, and who manages it',
    answer: WhoHasAccess,
    errors: [],
  })
  async ofEntry(@CurrentCaller() caller: Caller, @Loaded() entry: Entry): Promise<JsonText> {
    return new JsonText(JSON.stringify(await this.who.ofEntry(caller, entry)));
  }

  @Route('GET', 'registries/:name/access', {
    access: 'manageRegistries',
    audit: 'registry.read',
    loads: { resource: 'registry', use: 'read' },
    mayBeLong: 'always',
    operationId: 'getRegistryAccess',
    summary:
      'List the claims that grant access to a registry or one of its entries, what shadows the entry, and who manages it',
    answer: WhoHasAccess,
    errors: ['invalid_parameter', 'entry_not_found'],
  })
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

  @Route('POST', 'registries/:name/access', {
    access: 'manageRegistries',
    audit: 'access.read',
    loads: { resource: 'registry', use: 'put' },
    body: RegistrySettings,
    writesNothing: true,
    mayBeLong: 'always',
    operationId: 'compareRegistryAccess',
    summary: 'Report who would gain and lose access if the registry had these settings; changes nothing',
    description: 'Takes the body of `PUT /v1/registries/{name}`, with the same checks.',
    answer: AccessChanges,
    errors: REGISTRY_SETTINGS_ERRORS,
  })
  ofChangedRegistry(
    @CurrentCaller() caller: Caller,
    @Param('name', DnsNamePipe) name: string,
    @Loaded() registry: Registry | null,
    @Body() body: RegistryBody,
  ): Promise<AccessChanges> {
    return this.changes.ofRegistry(caller, name, body, registry);
  }

  @Route('GET', 'sources/:name/access', {
    access: 'manageSources',
    audit: 'source.read',
    loads: { resource: 'source', use: 'read' },
    mayBeLong: 'always',
    operationId: 'getSourceAccess',
    summary:
      'Count the names in a source, and list who sees them, which registries contain it, and who manages it',
    answer: SourceAccess,
    errors: [],
  })
  async ofSource(@CurrentCaller() caller: Caller, @Loaded() source: Source): Promise<JsonText> {
    return new JsonText(JSON.stringify(await this.who.ofSource(caller, source)));
  }

  @Route('POST', 'sources/:name/access', {
    access: 'manageSources',
    audit: 'access.read',
    loads: { resource: 'source', use: 'put' },
    body: { type: SourceSettings, examples: SOURCE_EXAMPLES },
    writesNothing: true,
    mayBeLong: 'always',
    operationId: 'compareSourceAccess',
    summary: 'Report who would gain and lose access if the source had these settings; changes nothing',
    description: 'Takes the body of `PUT /v1/sources/{name}`, with the same checks.',
    answer: AccessChanges,
    errors: ['invalid_name', 'kind_immutable', ...SOURCE_SETTINGS_ERRORS],
  })
  ofChangedSource(
    @CurrentCaller() caller: Caller,
    @Param('name', DnsNamePipe) name: string,
    @Loaded() source: Source | null,
    @Body() body: SourceBody,
  ): Promise<AccessChanges> {
    return this.changes.ofSource(caller, name, body, source);
  }
}
