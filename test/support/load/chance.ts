/** Numbers that come in the same order for the same seed. */
export class Chance {
  constructor(private state: number) {}

  /** 0 to 1, without 1. (mulberry32) */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  of(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(from: readonly T[]): T {
    if (from.length === 0) throw new Error('Nothing to pick from');
    return from[Math.floor(this.next() * from.length)] as T;
  }

  /** Each with its weight. */
  weigh<T>(from: readonly (readonly [weight: number, what: T])[]): T {
    let left = this.next() * from.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, what] of from) if ((left -= weight) < 0) return what;
    throw new Error('Nothing to weigh');
  }

  shuffle<T>(all: readonly T[]): T[] {
    return all
      .map((one) => ({ one, at: this.next() }))
      .sort((first, second) => first.at - second.at)
      .map(({ one }) => one);
  }
}
