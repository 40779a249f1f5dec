import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../auth/caller.js';
import type { Claims } from '../claims/claims.js';
import { isKey, NO_KEY, type RegistryKey } from '../config/registry-keys.js';
import type { RegistryKeySettings } from '../config/registry-settings.dto.js';
import { registryKeyOf } from '../config/resolve-config.js';
import { invalidBody } from '../http/validation.pipes.js';
import { AdminFiles } from '../sources/admin-limits.js';
import { below, issue } from '../validation/problems.js';

/** The keys of registries that are made through the API: their files lie below `adminFileRoots`, as those of sources do. */
@Injectable()
export class AdminKeys {
  constructor(private readonly files: AdminFiles) {}

  /**
   * Reads the keys once, when the registry is put: only their digests are kept.
   *
   * @param claims those of the registry.
   * @throws ApiError 400 `path_not_allowed`; `invalid_body` for a file that holds no key, or that of another one.
   */
  async read(caller: Caller, keys: readonly RegistryKeySettings[], claims: Claims): Promise<RegistryKey[]> {
    const read: RegistryKey[] = [];
    for (const [position, key] of keys.entries()) {
      const path = ['keys', position, 'secretFile'];
      const reader = { kind: 'file', settings: {}, claims } as const;
      const file = await this.files.check(key.secretFile, 'content', reader, caller);
      const content = (await readFile(file, 'utf8').catch(() => '')).replace(/\r?\n$/, '');
      if (!isKey(content)) throw invalidBody(below(path, issue(`the file ${NO_KEY}`)));
      const stored = registryKeyOf(key, resolve(this.files.directory, key.secretFile), content);
      if (read.some(({ digest }) => digest === stored.digest))
        throw invalidBody(below(path, issue('the file holds the same key as another one')));
      read.push(stored);
    }
    return read;
  }
}
