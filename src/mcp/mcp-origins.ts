import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { Request } from 'express';
import { authenticationConfig, corsConfig } from '../config/slices.js';
import { ApiError } from '../http/errors.js';

const SENTENCE = 'Only pages of this server, and of the origins of cors.origins, may use this endpoint';

/**
 * MCP 2025-11-25 basic/transports: servers have to validate the `Origin` of every request; contract §6.3: it is the server's own or one
 * of `cors.origins`. In anonymous mode `refuseForeignOrigins` has refused before what `*` lets pass here.
 */
@Injectable()
export class McpOrigins {
  private readonly named: ReadonlySet<string>;

  constructor(
    @Inject(corsConfig.KEY) { origins }: ConfigType<typeof corsConfig>,
    @Inject(authenticationConfig.KEY) { oauth }: ConfigType<typeof authenticationConfig>,
  ) {
    this.named = new Set([...origins, ...(oauth ? [new URL(oauth.resourceUrl).origin] : [])]);
  }

  /** @throws ApiError 403 `origin_refused` */
  check({ headers: { origin, host } }: Pick<Request, 'headers'>): void {
    if (origin === undefined || this.named.has('*') || this.named.has(origin)) return;
    if (origin !== `http://${host}` && origin !== `https://${host}`)
      throw new ApiError('origin_refused', SENTENCE);
  }
}
