/** What leads to a key where a path is as it should be, and nowhere where it is not. */
const LEADS_TO_KEY = /^(k|%(?:25)*[46]b)$/i;
/** A slash, also one that is percent-encoded, perhaps more than once, and so is none to whoever routes the request. */
const SLASH = /(\/|%(?:25)*2f)/i;
/** Characters of a key, some of them perhaps percent-encoded; any other escape, so that none of its digits counts as one of a key. */
const WORD_OR_ESCAPE =
  /((?:[\w-]|%(?:25)*(?:2d|3\d|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a]))+)|%(?:25)*[\da-f]{2}/gi;
const KEY_LENGTH = 43;

/** A text that somebody who is not known has sent, `{key}` in place of what may be the key of a registry. */
export function withoutKeys(text: string): string {
  if (text.length < KEY_LENGTH) return text;
  return text.replaceAll(WORD_OR_ESCAPE, (found, word: string | undefined) =>
    word !== undefined && word.replaceAll(/%(?:25)*../g, 'x').length === KEY_LENGTH ? '{key}' : found,
  );
}

/**
 * A path for a log, a trace or an error: `{key}` in place of the key of a registry (contract §6.1), also where one is misplaced,
 * since a path that leads nowhere is logged too.
 */
export function pathWithoutKeys(path: string): string {
  const names: string[] = [];
  const parts = path.split(SLASH).map((part, index) => {
    if (index % 2 === 1 || part === '') return part;
    const isBelowRegistry = names.length === 3 || names.at(-3)?.toLowerCase() === 'registry';
    const isHidden = isBelowRegistry && LEADS_TO_KEY.test(names.at(-1) ?? '');
    names.push(part);
    return isHidden ? '{key}' : withoutKeys(part);
  });
  return parts.join('');
}
