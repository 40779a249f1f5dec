/** The longest document that is stored, as compact JSON in UTF-8. */
export const MAX_DOCUMENT_BYTES = 1024 * 1024;
/** How deep arrays and objects of a document may be nested. */
export const MAX_DEPTH = 100;
/** How many bytes the publisher's block in `_meta` may have, as compact JSON. */
export const MAX_PUBLISHER_BYTES = 64 * 1024;
/** How many characters each part of a name may have. */
export const MAX_NAME_LENGTH = 255;
