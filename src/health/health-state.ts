/** Whether this process is ready, as the internal server reports it. */
export class HealthState {
  private started = false;
  private draining = false;

  /** @param reachesDatabase resolves to false while PostgreSQL is not reachable. */
  constructor(private reachesDatabase: () => Promise<boolean> = async () => false) {}

  /** The API can answer from now on, as long as the database does. */
  markStarted(reachesDatabase: () => Promise<boolean>): void {
    this.reachesDatabase = reachesDatabase;
    this.started = true;
  }

  /** The process is about to end: no new requests, please. */
  markDraining(): void {
    this.draining = true;
  }

  async isReady(): Promise<boolean> {
    return this.started && !this.draining && (await this.reachesDatabase());
  }
}
