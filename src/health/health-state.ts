/** What the internal server tells orchestrators about this process. */
export class HealthState {
  private started = false;
  private draining = false;

  /** @param reachesDatabase resolves to false while the database is away. */
  constructor(private reachesDatabase: () => Promise<boolean> = async () => false) {}

  /** The API can answer from now on, as long as the database does. */
  markStarted(reachesDatabase: () => Promise<boolean>): void {
    this.reachesDatabase = reachesDatabase;
    this.started = true;
  }

  /** No new requests please: the process is about to end. */
  markDraining(): void {
    this.draining = true;
  }

  async isReady(): Promise<boolean> {
    return this.started && !this.draining && (await this.reachesDatabase());
  }
}
