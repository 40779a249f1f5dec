import { Controller, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Loaded, Route } from '../auth/route.js';
import type { ServerVersion } from '../client-config/client-config.js';
import { optionsOf } from '../client-config/client-setup.js';
import { runsInToolHive } from '../client-config/connections.js';
import { CachedJson } from '../http/json-answers.js';
import { memberText } from '../json/json-text.js';
import type { VerifiedAccess } from '../visibility/registry-views.js';
import { CatalogService } from './catalog.service.js';
import { ServerSetup } from './server-setup.responses.js';

/** Serves the client configuration of one server, for each of its remotes and packages. */
@ApiTags('catalog')
@Controller(
  ['/v0.1', '/v0', ''].map((version) => `registry/:registry${version}/x/setup/:name/versions/:version`),
)
export class ServerSetupController {
  constructor(private readonly catalog: CatalogService) {}

  @Route('GET', '', {
    access: 'caller',
    audit: { action: 'catalog.read', entryType: 'server' },
    loads: 'view',
    operationId: 'getServerSetup',
    summary: 'How each client installs one server, for each remote and package',
    description: '`client-config` uses the first that a client supports.',
    parameters: [
      {
        name: 'name',
        type: String,
        description: 'Name of the server, with its slash encoded as %2F',
        example: 'io.github.example/weather',
      },
      {
        name: 'version',
        type: String,
        description: '`latest` or an exact version',
        example: 'latest',
      },
    ],
    answer: ServerSetup,
    errors: ['invalid_parameter', 'entry_not_found', 'version_not_found'],
  })
  async get(
    @Loaded() access: VerifiedAccess,
    @Param('name') asked: string,
    @Param('version') version: string,
  ): Promise<CachedJson> {
    const { bytes } = await this.catalog.version(access, 'server', asked, version, false);
    const document = memberText(bytes.toString(), 'server') ?? '';
    const found = JSON.parse(document) as Pick<ServerVersion, 'name' | 'version'>;
    const server = { name: found.name, version: found.version };
    const options = optionsOf({ ...server, document, parsed: found });
    return new CachedJson([JSON.stringify({ ...server, options, runsInToolHive: runsInToolHive(found) })]);
  }
}
