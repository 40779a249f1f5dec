import type { Logger } from 'pino';
import type { RunningService } from '../app/start-service.js';
import type { Flags } from '../config/config.js';
import { configuration } from './configuration.js';
import { startFailure } from './start-failure.js';

/** Reads the configuration again at each SIGHUP (contract §1), one reload after the other. */
export class ReloadOnSignal {
  private isReloading = false;
  private isWanted = false;

  constructor(
    private readonly file: string,
    private readonly flags: Flags,
    private readonly service: Promise<RunningService>,
    private readonly logger: Logger,
  ) {}

  /** A signal that comes while a reload is under way is followed by one more: the file may have changed since it was read. */
  readonly request = (): void => {
    this.isWanted = true;
    if (!this.isReloading) void this.reloadWhileWanted();
  };

  private async reloadWhileWanted(): Promise<void> {
    this.isReloading = true;
    while (this.isWanted) {
      this.isWanted = false;
      await this.reload().catch((error: unknown) =>
        this.logger.error(
          { err: error },
          `SIGHUP: the configuration was not taken over, send the signal again: ${startFailure(error)}`,
        ),
      );
    }
    this.isReloading = false;
  }

  private async reload(): Promise<void> {
    const service = await this.service;
    let problems = '';
    const loaded = configuration(this.file, this.flags, (found) => (problems = found));
    if (!loaded) {
      this.logger.error(`SIGHUP: the configuration is not valid, and nothing was changed:\n${problems}`);
      return;
    }
    for (const warning of loaded.warnings) this.logger.warn(warning);
    const { changes, waiting } = await service.reload(loaded.config);
    this.logger.info(
      { changes, waiting },
      changes.length > 0 ? 'SIGHUP: the configuration was taken over' : 'SIGHUP: nothing was changed',
    );
    if (waiting.length > 0)
      this.logger.warn(`SIGHUP: these changes wait for a restart: ${waiting.join(', ')}`);
  }
}
