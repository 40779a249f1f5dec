/** Overrides and isolates of the direction of text (Unicode UAX #9): with them a text reads other than it is. */
const NO_LINE = /\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u;
const NO_PROSE = /(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu;

/** May this be shown as a title or a name (contract §7)? */
export function isLine(text: string): boolean {
  return !NO_LINE.test(text);
}

/** May this be shown as a description, in which line feeds and tabs may stand (contract §7)? */
export function isProse(text: string): boolean {
  return text.search(NO_PROSE) === -1;
}

/** The text with U+FFFD in place of every character that a description may not hold. */
export function toProse(text: string): string {
  return text.replaceAll(NO_PROSE, '\ufffd');
}
