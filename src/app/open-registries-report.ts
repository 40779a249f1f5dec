import { Injectable, Logger } from '@nestjs/common';
import { type Config, oauthInUse } from '../config/config.js';
import { RegistriesRepository } from '../registries/registries.repository.js';
import { OpenEntries } from '../views/open-entries.queries.js';

/** Tells the operator at each start what can be read without a token (contract §6.1): more than was meant, perhaps. */
@Injectable()
export class OpenRegistries {
  private readonly logger = new Logger('authz');

  constructor(
    private readonly registries: RegistriesRepository,
    private readonly entries: OpenEntries,
  ) {}

  /** One line for each registry that opens without a token, and for each key that opens one. */
  async report({ auth }: Pick<Config, 'auth'>): Promise<void> {
    if (!oauthInUse(auth)) return;
    await this.reportAll().catch((error: unknown) =>
      this.logger.warn({ err: error }, 'What opens without a token could not be counted'),
    );
  }

  private async reportAll(): Promise<void> {
    for (const { name, anonymousClaims, keys } of await this.registries.all()) {
      if (anonymousClaims) {
        const opened = await this.entries.count(name, anonymousClaims);
        this.logger.warn(
          { registry: name, claims: anonymousClaims, entries: opened },
          `The registry ${name} opens ${opened} of its entries to callers without a token`,
        );
      }
      for (const key of keys) {
        const opened = await this.entries.count(name, key.claims);
        this.logger.log(
          { registry: name, key: key.name, claims: key.claims, entries: opened },
          `The registry ${name} opens ${opened} of its entries to the holders of the key ${key.name}`,
        );
      }
    }
  }
}
