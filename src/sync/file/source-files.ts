import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { Origin } from '../../config/config.js';
import { limitsConfig } from '../../config/slices.js';
import { ApiError } from '../../http/errors.js';
import { FetchError } from '../../outbound/fetch-error.js';
import type { FileUse } from '../../source-kinds/kinds.js';
import { AdminFiles, type ReadingSource } from '../../sources/admin-limits.js';
import type { MemoryShare } from '../read-memory.js';
import { type LocalFile, maxFileBytes, readLocalFile } from './local-file.js';

const MAX_SECRET_BYTES = 1024 * 1024;
const MAX_TOKEN_LENGTH = 16 * 1024;

interface FileSource extends ReadingSource {
  readonly origin: Origin;
}

/**
 * Reads the files in a source's settings, if the source may read them (reference/sources). Each run checks permission
 * again, because settings and files may change.
 */
@Injectable()
export class SourceFiles {
  constructor(
    private readonly admin: AdminFiles,
    @Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>,
  ) {}

  /**
   * Reads a registry file; its size counts toward the run's memory.
   *
   * @throws FetchError naming the file, without its content.
   * @throws ReadMemoryError if the file takes too much memory, or must wait for it.
   */
  async content(path: string, source: FileSource, memory: MemoryShare): Promise<LocalFile> {
    return this.read(path, 'content', source, (bytes) => {
      memory.reserveForFile(bytes);
      memory.add(bytes);
    });
  }

  /**
   * Reads a secret, without a trailing line break.
   *
   * @throws FetchError naming the file, without its content.
   */
  async secret(path: string, source: FileSource): Promise<string> {
    const { bytes } = await this.read(path, 'credential', source);
    if (bytes.length > MAX_SECRET_BYTES) throw new FetchError(`${path} is larger than 1 MiB`);
    const content = bytes.toString().replace(/\r?\n$/, '');
    if (content === '') throw new FetchError(`${path} is empty`);
    return content;
  }

  /**
   * Reads a bearer token; returns undefined if there is no path.
   *
   * @throws FetchError naming the file, without its content.
   */
  async token(path: string | undefined, source: FileSource): Promise<string | undefined> {
    if (path === undefined) return undefined;
    const { bytes } = await this.read(path, 'credential', source);
    const token = bytes.length <= MAX_TOKEN_LENGTH ? bytes.toString('latin1').trim() : '';
    if (!/^[\x21-\x7e]+$/.test(token))
      throw new FetchError(`the token file ${path} does not contain a bearer token`);
    return token;
  }

  private async read(
    path: string,
    use: FileUse,
    source: FileSource,
    onSize?: (bytes: number) => void,
  ): Promise<LocalFile> {
    const maxBytes = maxFileBytes(this.limits, source.origin);
    if (source.origin === 'config') return readLocalFile(path, { onSize, maxBytes });
    return readLocalFile(await this.allowed(path, use, source), { hasNoLinks: true, onSize, maxBytes });
  }

  private allowed(path: string, use: FileUse, source: FileSource): Promise<string> {
    return this.admin.check(path, use, source).catch((error: unknown) => {
      throw error instanceof ApiError ? new FetchError(`${path} is not allowed: ${error.message}`) : error;
    });
  }
}
