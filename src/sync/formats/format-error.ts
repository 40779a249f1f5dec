/** A source cannot be read in its format. The message is for the operator. */
export class FormatError extends Error {}
