/** What stands ready beyond a limit for clients that have little, as a part of it. */
const RESERVED_PART = 1 / 4;
/** What counts as little, as a part of the limit. */
const LITTLE_PART = 1 / 20;

/**
 * A limit of what all clients have at a time. One client may use all of it, as behind a proxy everybody is one client; those
 * that have little are let in a quarter beyond it, so that one that has much does not shut the others out.
 */
export class Quota {
  private total = 0;
  private readonly held = new Map<string, number>();
  private readonly little: number;
  /** The most that there can be. */
  readonly max: number;

  constructor(private readonly limit: number) {
    this.little = Math.ceil(limit * LITTLE_PART);
    this.max = limit + Math.ceil(limit * RESERVED_PART);
  }

  /**
   * Takes some for a client, who gives as much back later.
   *
   * @param client see `clientKeyOf`.
   * @returns false when there is not as much left for this client.
   */
  tryAcquire(client: string, amount = 1): boolean {
    const held = this.held.get(client) ?? 0;
    if (this.total + amount > (held < this.little ? this.max : this.limit)) return false;
    this.total += amount;
    this.held.set(client, held + amount);
    return true;
  }

  /** Gives back what was taken. */
  release(client: string, amount = 1): void {
    const held = this.held.get(client) ?? 0;
    this.total -= amount;
    if (held > amount) this.held.set(client, held - amount);
    else this.held.delete(client);
  }
}
