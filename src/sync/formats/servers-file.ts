import { type DocumentProblem, unreadableProblem } from '../../documents/document-check.js';
import { MAX_DOCUMENT_BYTES, preview } from '../../documents/document-problem.js';
import { topLevelMembers } from '../../json/json-members.js';
import { JsonSlicer, type Slice } from '../../json/json-slices.js';
import { parseText } from '../../json/json-text.js';
import { isObject, member } from '../../json/json-values.js';
import type { UncheckedDocument } from '../entry-validator.js';
import { ENVELOPE, listedServer } from '../registry-api/registry-page.js';
import { FormatError, type JsonReader } from './source-content.js';
import { readSlices, withFormatErrors } from './sliced-file.js';

const LIST = 'servers';
const MAX_ITEM_BYTES = MAX_DOCUMENT_BYTES + ENVELOPE.bytes;
/** Includes white space. */
const MAX_SINGLE_BYTES = 4 * MAX_ITEM_BYTES;

/**
 * Reads server documents: one, a list of them, or an object with a `servers` list, such as a page of the registry API.
 * Each may be in an object `{ server, _meta }`, whose status and dates are kept as from an `api` source.
 */
export const readServersFile: JsonReader = (text, validator) => {
  if (/^\s*\[/.test(text.toString('latin1', 0, MAX_ITEM_BYTES)))
    readSlices(new JsonSlicer(text, [''], MAX_ITEM_BYTES, 'text'), validator, serverIn);
  else if (isPage(text))
    readSlices(new JsonSlicer(text, [LIST], MAX_ITEM_BYTES, 'root'), validator, serverIn);
  else if (text.length > MAX_SINGLE_BYTES)
    throw new FormatError('The file has no "servers" list, and is too large for a server document');
  else withFormatErrors(() => validator.add(serverIn(JsonSlicer.whole(text, MAX_ITEM_BYTES))));
};

function isPage(text: Buffer): boolean {
  for (const [key, first] of topLevelMembers(text)) if (key === LIST && first === '[') return true;
  return false;
}

/** Many projects insert the version when they publish. */
function placeholderProblem(document: unknown): DocumentProblem | null {
  const version = member(document, 'version');
  if (typeof version !== 'string' || !/\$\{|\{\{/.test(version)) return null;
  return {
    path: 'version',
    message: `${preview(version)} is a placeholder: use the published document, which contains the real version`,
  };
}

/** @throws JsonSliceError if the slice is malformed. */
export function serverIn(slice: Slice): UncheckedDocument {
  const isTooLarge = unreadableProblem(slice, ENVELOPE) !== null;
  const item = isTooLarge ? null : parseText(slice.text ?? '', `${LIST}[${slice.index}]`);
  if (isTooLarge || (isObject(item) && 'server' in item && !('name' in item)))
    return listedServer(slice, item);
  const readProblem = unreadableProblem(slice) ?? placeholderProblem(item);
  const written = { text: slice.text ?? '', keys: slice.keys };
  return { type: 'server', index: slice.index, document: item, written, readProblem };
}
