import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** Text from a document or user: isolated from the surrounding text direction, with invisible characters escaped. */
export function UntrustedText({ text, class: name }: { text: string; class?: string }): JSX.Element {
  return (
    <bdi class={name} dir="auto">
      {escapeInvisible(text)}
    </bdi>
  );
}

/** A link from a document. Only http and https URLs become links, which send no referrer. */
export function ExternalLink({ to }: { to: string }): JSX.Element {
  if (!isWebUrl(to)) return <UntrustedText text={to} class="break" />;
  return (
    <a href={to} target="_blank" rel="noopener noreferrer nofollow" class="break">
      <UntrustedText text={to} />
    </a>
  );
}

export function isWebUrl(address: string): boolean {
  return /^https?:\/\//i.test(address) && URL.canParse(address);
}

/** Maximum characters shown; the copy button copies everything. */
const MAX_SHOWN = 40_000;

interface CodeProps {
  readonly text: string;
  readonly label: string;
  /** Shows the whole text, because the reader decides whether to run it. */
  readonly isWhole?: boolean;
}

/** A code block with invisible characters escaped; the copy button copies the original text. */
export function Code({ text, label, isWhole = false }: CodeProps): JSX.Element {
  return (
    <div class="code">
      <CopyButton text={text} />
      {/** Not a region: a page has many of these, and landmarks need different names. */}
      <pre tabIndex={0} role="group" aria-label={label}>
        {isWhole
          ? escapeInvisible(text, Infinity)
          : text
              .slice(0, MAX_SHOWN)
              .split('\n')
              .map((line) => escapeInvisible(line))
              .join('\n')}
        {!isWhole && text.length > MAX_SHOWN && '…'}
      </pre>
    </div>
  );
}

function CopyButton({ text }: { text: string }): JSX.Element {
  const [result, setResult] = useState('');
  useEffect(() => {
    if (result === '') return undefined;
    const timer = setTimeout(() => setResult(''), 2_000);
    return () => clearTimeout(timer);
  }, [result]);
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => setResult('Copied'),
      () => setResult('Copying is blocked'),
    );
  };
  return (
    <button type="button" class="small" onClick={copy}>
      <span aria-live="polite">{result || 'Copy'}</span>
    </button>
  );
}

/** Maximum characters; longer text is useless to readers and slow to lay out. */
const MAX_LENGTH = 4_000;

// Control characters except line feed and tab, bidi controls, zero-width characters, line separators.
const INVISIBLE =
  /(?![\n\t])[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/**
 * Escapes invisible characters, such as `[U+202E]`, so that text cannot reorder, hide or imitate its surroundings.
 * Joiners between two characters stay: emoji and some scripts need them.
 */
export function escapeInvisible(text: string, maxLength = MAX_LENGTH): string {
  const shown =
    text.length > maxLength
      ? `${text.slice(0, maxLength)}… (${text.length.toLocaleString('en')} characters)`
      : text;
  return shown.replaceAll(INVISIBLE, (character, position: number) =>
    isJoiner(character) && position > 0 && position < shown.length - 1 ? character : escaped(character),
  );
}

function isJoiner(character: string): boolean {
  return character === '\u200c' || character === '\u200d';
}

function escaped(character: string): string {
  return `[U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`;
}
