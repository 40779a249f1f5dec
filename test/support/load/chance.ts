import { Random } from '../random.js';

/** What a load leaves to chance. */
export class Chance extends Random {
  of(share: number): boolean {
    return this.chance(share);
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
