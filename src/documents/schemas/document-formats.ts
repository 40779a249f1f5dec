import { fullFormats } from 'ajv-formats/dist/formats.js';

/** Overrides and isolates of the direction of text (Unicode UAX #9): with them a text reads other than it is. */
const NO_LINE = /\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u;
const NO_PROSE = /(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu;

/** What a string of a document must be, and the words that follow one that is not. */
interface DocumentFormat {
  readonly validate: (text: string) => boolean;
  readonly rule: string;
}

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

/**
 * The formats of the schemas. contract §7: URLs of documents are `http` or `https`, because whoever shows a document makes
 * links of them; text holds nothing that makes it look other than it is.
 */
export const DOCUMENT_FORMATS: Readonly<Record<string, DocumentFormat>> = {
  line: {
    validate: isLine,
    rule: 'must hold no control characters, and none that override or isolate the direction of text',
  },
  prose: {
    validate: isProse,
    rule: 'must hold no control characters but line feed and tab, and none that override or isolate the direction of text',
  },
  'web-url': {
    validate: (text) => isUri(text) && /^https?:\/\//i.test(text),
    rule: 'must be an absolute URI with http:// or https://, such as "https://example.com/page"',
  },
  'web-reference': {
    validate: (text) => isLine(text) && !/\s/u.test(text) && staysOnTheWeb(text),
    rule: 'must be relative or begin with http:// or https://, and hold no white space',
  },
};

function isUri(text: string): boolean {
  const { uri } = fullFormats;
  return typeof uri === 'function' && uri(text);
}

// Read as a browser reads it (WHATWG URL): the scheme that it finds is the one that counts.
function staysOnTheWeb(reference: string): boolean {
  const base = 'https://base.invalid/';
  return URL.canParse(reference, base) && /^https?:$/.test(new URL(reference, base).protocol);
}
