import { Controller, Query, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { Loaded, Route } from '../auth/route.js';
import type { CachedJson, StreamedJson } from '../http/json-answers.js';
import type { VerifiedAccess } from '../visibility/registry-views.js';
import { ClientConfigAnswer, ClientConfigQuery } from '../catalog/client-config.dto.js';
import { MarketplaceService } from './marketplace.service.js';

/** Serves the catalog as client configuration files (reference/client-config). */
@ApiTags('catalog')
@Controller(['/v0.1', '/v0', ''].map((version) => `registry/:registry${version}/x/client-config`))
export class ClientConfigController {
  constructor(private readonly marketplaces: MarketplaceService) {}

  @Route('GET', '', {
    access: 'caller',
    audit: 'catalog.read',
    loads: 'view',
    operationId: 'getClientConfig',
    summary: 'All servers as the configuration file of a client, or as its lists',
    description:
      'Contains the latest version of each server; a deny-list contains the deleted and blocked versions. Lists include the ' +
      'servers of plugins. JSON, or TOML for Codex. A form that the client does not support returns 400. Servers that the client’s format cannot express, that are longer than ' +
      '64 KiB, or whose package could make its launcher run something else are omitted, counted in `X-Omitted-Count` and ' +
      'listed in `x-omitted`, which clients ignore; in TOML in comments.',
    answer: ClientConfigAnswer,
    errors: ['invalid_parameter', 'marketplace_too_large'],
  })
  get(
    @Loaded() access: VerifiedAccess,
    @Query() { client, form }: ClientConfigQuery,
    @Req() request: Request,
  ): Promise<CachedJson | StreamedJson> {
    return this.marketplaces.clientFile(access, { client, form: form || 'servers' }, request);
  }
}
