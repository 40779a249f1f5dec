import { Inexpressible } from './omission.js';

/** Of all that is made of one document. */
const MAX_CHARACTERS = 64 * 1_024;
/** What a text takes beside its characters. */
const CHARACTERS_PER_TEXT = 16;

/**
 * Bounds what is made of one document: a text may name a variable as often as there is room for the name, and the variable may be
 * long, so that a document of one mebibyte stands for gigabytes.
 */
export class TextLimit {
  private taken = 0;

  /** How many characters were taken so far. */
  get characters(): number {
    return this.taken;
  }

  /** @throws Inexpressible when there would be more than may be. */
  take(characters: number): void {
    this.taken += CHARACTERS_PER_TEXT + characters;
    if (this.taken > MAX_CHARACTERS) throw new Inexpressible('too_long');
  }
}
