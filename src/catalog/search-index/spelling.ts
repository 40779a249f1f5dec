import { BEGINS, type Form, type Found, isInWord, WHOLE } from './search-words.js';

/** Minimum length of a word that also matches with one letter wrong. */
const MIN_CORRECTED = 5;

/**
 * Works like `findForm`, but finds words that equal the form, or begin with it, except for one letter that is wrong,
 * missing, extra or swapped with its neighbor. They must not be much longer: `postgers` finds `postgresql`, but `slack`
 * does not find `stacklok`. One error leaves the first or the second half of the form intact, so only places where
 * either occurs are compared.
 */
export function findCorrected(text: string, { text: form }: Form, found: Found): void {
  if (form.length < MIN_CORRECTED) return;
  const half = form.length >> 1;
  for (const part of [form.slice(0, half), form.slice(half + 1)])
    for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
      let start = at;
      while (start > 0 && at - start <= half + 2 && isInWord(text, start - 1)) start -= 1;
      let end = at;
      while (isInWord(text, end)) end += 1;
      const length = lengthCorrected(text, start, end, form);
      if (length === 0 || end > start + length + half || (start > 0 && isInWord(text, start - 1))) continue;
      const isWhole = start + length === end || (start + length === end - 1 && text[end - 1] === 's');
      if (found(start, isWhole ? WHOLE : BEGINS, text.slice(start, end)) === Infinity) return;
    }
}

/** Returns how many letters of the word at `at` match the form with at most one error, or 0. Prefers the whole word. */
function lengthCorrected(text: string, at: number, end: number, form: string): number {
  const { length } = form;
  if (end - at < length - 1) return 0;
  let same = 0;
  while (same < length && text[at + same] === form[same]) same += 1;
  if (same === length) return length;
  const rest = (fromText: number, fromForm: number) =>
    text.startsWith(form.slice(fromForm), at + fromText) && at + fromText + length - fromForm <= end;
  const lengths = [
    // An extra letter in the form, a missing one, a wrong one, two swapped.
    rest(same, same + 1) ? length - 1 : 0,
    rest(same + 1, same) ? length + 1 : 0,
    rest(same + 1, same + 1) ? length : 0,
    text[at + same] === form[same + 1] && text[at + same + 1] === form[same] && rest(same + 2, same + 2)
      ? length
      : 0,
  ];
  return lengths.find((found) => found > 0 && at + found === end) ?? Math.max(...lengths);
}
