import { Controller, Get } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller } from '../../auth/caller.js';
import { Audited, Loaded, MayBeLong, RequiresRole, ResourceRoute } from '../../auth/route.js';
import { Entry } from '../../entries/entry.entity.js';
import { JsonText } from '../../http/json-answers.js';
import { ApiErrors, ApiOkWithEtag } from '../../http/openapi/api-answers.js';
import { ValidQuery } from '../../http/validation.pipes.js';
import { Registry } from '../../registries/registry.entity.js';
import { RegistryAccessQuery } from '../access.dto.js';
import { WhoHasAccess } from '../access.responses.js';
import { WhoService } from './who.service.js';

@ApiTags('access')
@Controller('v1')
@ApiErrors('database_unavailable', 'database_timeout')
export class WhoController {
  constructor(private readonly who: WhoService) {}

  @Get('entries/:type/:name/access')
  @Audited('entry.read')
  @RequiresRole('manageEntries')
  @ResourceRoute({ resource: 'entry', use: 'read' })
  @ApiOperation({
    operationId: 'getEntryAccess',
    summary: 'Which claims open a published entry, registry by registry, and who manages it',
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
    summary: 'Which claims open a registry, or one entry of it and what shadows that, and who manages it',
  })
  @ApiOkWithEtag(WhoHasAccess)
  @ApiErrors('invalid_parameter', 'entry_not_found')
  async ofRegistry(
    @Loaded() registry: Registry,
    @ValidQuery() { type, entry }: RegistryAccessQuery,
  ): Promise<JsonText> {
    const found = entry
      ? await this.who.ofRegistryEntry(registry, { type: type || 'server', name: entry })
      : await this.who.ofRegistry(registry);
    return new JsonText(JSON.stringify(found));
  }
}
