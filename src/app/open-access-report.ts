import { Injectable, Logger } from '@nestjs/common';
import { OpenAccess } from '../authz/admin-access.js';
import { type Config, oauthInUse } from '../config/config.js';
import { RegistriesRepository } from '../registries/registries.repository.js';
import { OpenEntries } from '../visibility/open-entries.queries.js';

/** Maximum number of registries created through the API whose entries are counted, so that the start is not delayed. */
const MAX_COUNTED = 20;
const MAX_NAMED = 20;

/** Logs how many entries are readable without a token (reference/access), which may be more than intended. */
@Injectable()
export class OpenAccessReport {
  private readonly logger = new Logger('authz');

  constructor(
    private readonly registries: RegistriesRepository,
    private readonly entries: OpenEntries,
    private readonly access: OpenAccess,
  ) {}

  /**
   * Logs one line for each registry with anonymous access, and one for each key. Registries created through the API
   * whose access is ignored share one line.
   */
  async report({ auth }: Pick<Config, 'auth'>): Promise<void> {
    if (!oauthInUse(auth)) return;
    await this.reportAll().catch((error: unknown) =>
      this.logger.warn({ err: error }, 'Entries visible without a token could not be counted'),
    );
  }

  private async reportAll(): Promise<void> {
    const all = await this.registries.opening();
    const made = all.filter(({ origin }) => origin === 'api');
    const isAllowed = this.access.isAllowed('api');
    for (const { name, origin } of all) if (origin === 'config') await this.reportOne(name);
    if (isAllowed) for (const { name } of made.slice(0, MAX_COUNTED)) await this.reportOne(name);
    const others = made.slice(isAllowed ? MAX_COUNTED : 0).map(({ name }) => name);
    if (others.length > 0)
      this.logger.warn(
        { registries: others.slice(0, MAX_NAMED), count: others.length },
        isAllowed
          ? 'More registries created through the API are open to callers without a token'
          : 'Registries created through the API have anonymous access or keys, which are ignored without adminOpenAccess',
      );
  }

  private async reportOne(registry: string): Promise<void> {
    const { anonymousClaims = null, keys = [] } = (await this.registries.findByName(registry)) ?? {};
    if (anonymousClaims) {
      const opened = await this.entries.count(registry, anonymousClaims);
      this.logger.warn(
        { registry, claims: anonymousClaims, entries: opened },
        `The registry ${registry} opens ${opened} of its entries to callers without a token`,
      );
    }
    for (const { name, claims } of keys) {
      const opened = await this.entries.count(registry, claims);
      this.logger.log(
        { registry, key: name, claims, entries: opened },
        `The registry ${registry} opens ${opened} of its entries to the holders of the key ${name}`,
      );
    }
  }
}
