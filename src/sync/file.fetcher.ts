import { Injectable } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { ApiError } from '../http/errors.js';
import { checkAdminFile } from '../sources/admin-files.js';
import { readCatalogueFile } from './catalogue-file.js';
import { FetchError, type Fetched, Fetcher } from './fetcher.js';
import type { LeasedSource } from './sync.queries.js';

/** Sources of kind file: a registry file on this machine. */
@Injectable()
export class FileFetcher extends Fetcher {
  private readonly adminFileRoot: string | null;

  constructor(config: ConfigService) {
    super();
    this.adminFileRoot = config.get<string | null>('adminFileRoot') ?? null;
  }

  override async fetch(source: LeasedSource): Promise<Fetched> {
    const { bytes, digest } = await readCatalogueFile(await this.readablePath(source));
    return { kind: 'file', bytes, digest, state: {} };
  }

  // What the rules for sources made through the API allow may have changed since, and so may what is behind the path.
  private async readablePath({ settings, origin }: LeasedSource): Promise<string> {
    const path = String(settings['path']);
    if (origin === 'config') return path;
    return checkAdminFile(path, this.adminFileRoot).catch((error: unknown) => {
      throw error instanceof ApiError ? new FetchError(`${path} may not be read: ${error.message}`) : error;
    });
  }
}
