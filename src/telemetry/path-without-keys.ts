/** What leads to a key where a path is as it should be, and nowhere where it is not. */
const LEADS_TO_KEY = /^(k|%6b|%4b)$/i;
const KEY_LIKE = /(?<![\w-])[\w-]{43}(?![\w-])/g;

/** A text that somebody who is not known has sent, `{key}` in place of what may be the key of a registry. */
export function withoutKeys(text: string): string {
  return text.replaceAll(KEY_LIKE, '{key}');
}

/**
 * A path for a log or a trace: `{key}` in place of the key of a registry (contract §6.1), also where one is misplaced, since a path
 * that leads nowhere is logged too.
 */
export function pathWithoutKeys(path: string): string {
  let [place, isKeyNext] = [0, false];
  const segments = path.split('/').map((segment) => {
    if (segment === '') return segment;
    place += 1;
    const isHidden = isKeyNext;
    isKeyNext = place === 3 && LEADS_TO_KEY.test(segment);
    return isHidden ? '{key}' : withoutKeys(segment);
  });
  return segments.join('/');
}
