import { fullFormats } from 'ajv-formats/dist/formats.js';
import { isLine, isProse } from '../text-characters.js';

/** What a string of a document must be, and the words that follow one that is not. */
interface DocumentFormat {
  readonly validate: (text: string) => boolean;
  readonly rule: string;
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
