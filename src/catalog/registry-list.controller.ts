import { Controller, Get } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { AnyCaller, Audited } from '../auth/route.js';
import { JsonText } from '../http/json-answers.js';
import { ApiErrors, ApiOkWithEtag } from '../http/openapi/api-answers.js';
import { RegistryList } from '../registries/registries.responses.js';
import { RegistriesService } from '../registries/registries.service.js';

@ApiTags('catalog')
@Controller('registry')
@AnyCaller()
@Audited('catalog.read')
export class RegistryListController {
  constructor(private readonly registries: RegistriesService) {}

  @Get()
  @ApiOperation({
    operationId: 'listReachableRegistries',
    summary: 'The registries that the caller has access to, in the order of the configuration',
  })
  @ApiOkWithEtag(RegistryList)
  @ApiErrors('database_unavailable', 'database_timeout')
  async list(@CurrentCaller() caller: Caller): Promise<JsonText> {
    const registries = await this.registries.listReachable(caller);
    const list: RegistryList = {
      registries: registries.map(({ name, createdAt, updatedAt }) => ({
        name,
        createdAt: createdAt.toISOString(),
        updatedAt: updatedAt.toISOString(),
      })),
    };
    return new JsonText(JSON.stringify(list));
  }
}
