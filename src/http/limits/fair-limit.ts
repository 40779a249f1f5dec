/** What stands ready beyond a limit for clients that have little, as a part of it. */
const RESERVED_PART = 1 / 4;
/** What counts as little, as a part of the limit. */
const LITTLE_PART = 1 / 20;

/**
 * A limit of what all clients have at a time. One client may use all of it, as behind a proxy everybody is one client; those
 * that have little are let in a quarter beyond it, so that one that has much does not shut the others out.
 */
export class FairLimit {
  private total = 0;
  private readonly held = new Map<string, number>();
  private readonly little: number;
  /** The most that there can be. */
  readonly most: number;

  constructor(private readonly limit: number) {
    this.little = Math.ceil(limit * LITTLE_PART);
    this.most = limit + Math.ceil(limit * RESERVED_PART);
  }

  /**
   * Takes one for a client, who gives it back later.
   *
   * @param client see `clientOf`.
   * @returns false when there is none left for this client.
   */
  take(client: string): boolean {
    const held = this.held.get(client) ?? 0;
    if (this.total >= (held < this.little ? this.most : this.limit)) return false;
    this.total += 1;
    this.held.set(client, held + 1);
    return true;
  }

  /** Gives back one that was taken. */
  give(client: string): void {
    const held = this.held.get(client) ?? 0;
    this.total -= 1;
    if (held > 1) this.held.set(client, held - 1);
    else this.held.delete(client);
  }
}
