import { useEffect, useRef, useState } from 'preact/hooks';

/**
 * A text that somebody types, and that counts after a pause. Where the text that counts changes otherwise, by the back button or
 * a link, it takes the place of what was typed.
 */
export function useTyped(
  value: string,
  change: (text: string) => void,
  pauseMs: number,
): [text: string, type: (text: string) => void] {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  const latest = useRef(change);
  latest.current = change;
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    const typed = text.trim();
    if (typed === sent.current) return undefined;
    const timer = setTimeout(() => {
      sent.current = typed;
      latest.current(typed);
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [text, pauseMs]);
  return [text, setText];
}
