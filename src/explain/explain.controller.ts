import { Body, Controller, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Loaded, Route } from '../auth/route.js';
import { Entry } from '../entry-store/entry.entity.js';
import { JsonText } from '../http/json-answers.js';
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
import { Client, CurrentClient } from '../auth/client.js';

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
    summary: 'Explain why a caller may or may not see, manage or publish an entry; changes nothing',
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
  constructor(private readonly who: WhoService) {}

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
}
