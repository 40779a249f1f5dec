import { Controller } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Route } from '../auth/route.js';
import { JsonText } from '../http/json-answers.js';
import { RegistryList } from '../registries/registries.responses.js';
import { RegistriesService } from '../registries/registries.service.js';

@ApiTags('catalog')
@Controller('registry')
export class RegistryListController {
  constructor(private readonly registries: RegistriesService) {}

  @Route('GET', '', {
    access: 'caller',
    audit: 'catalog.read',
    operationId: 'listReachableRegistries',
    summary: 'The registries that the caller has access to, in the order of the configuration',
    answer: RegistryList,
    errors: [],
  })
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
