import type { JSX } from 'preact';
import { Plain } from './plain.js';

/** A link that a document names: only if it leads to the web, and without telling where from. */
export function ExternalLink({ to, text = to }: { to: string; text?: string }): JSX.Element {
  if (!leadsToWeb(to)) return <Plain text={to} class="break" />;
  return (
    <a href={to} target="_blank" rel="noopener noreferrer nofollow" class="break external">
      <Plain text={text} />
    </a>
  );
}

export function leadsToWeb(address: string): boolean {
  return /^https?:\/\//i.test(address) && URL.canParse(address);
}
