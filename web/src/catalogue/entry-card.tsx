import type { JSX } from 'preact';
import type { FoundEntry } from '../api/types.js';
import { worksWith } from '../entry/clients.js';
import { entryHash } from '../navigation/route.js';
import { Badge } from '../ui/badge.js';
import { Ago } from '../ui/format.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import { EntryIcon } from './entry-icon.js';
import { dateOf, isQuiet } from './merge-results.js';
import { publisherOf } from './publisher.js';

interface CardProps {
  /** The target of the link. */
  readonly registry: string;
  readonly entry: FoundEntry;
}

export function EntryCard({ registry, entry }: CardProps): JSX.Element {
  const { type, name, title = '', description = '', status, clients = [], tier, stars, matched = [] } = entry;
  const date = dateOf(entry);
  return (
    <a class={isQuiet(entry) ? 'card is-quiet' : 'card'} href={entryHash(registry, entry)} data-name={name}>
      <EntryIcon registry={registry} type={type} name={name} />
      <span class="card-text">
        <span class="card-title">
          <UntrustedText text={titleOf(title, name)} class="cut" />
          {type !== 'server' && <Badge state={type} />}
          {status !== 'active' && <Badge state={status} />}
          {tier !== undefined && <Tier tier={tier} />}
        </span>
        <UntrustedText text={publisherOf(name)} class="card-publisher cut" />
        <UntrustedText text={description} class="card-description" />
        {matched.length > 0 && (
          <span class="card-facts">
            <span class="cut">
              {matched.map(({ in: where, text }, index) => (
                <span key={text}>
                  {index > 0 && ', '}
                  <UntrustedText text={where} /> <UntrustedText text={text} class="found-text" />
                </span>
              ))}
            </span>
          </span>
        )}
        <span class="card-facts card-end">
          {type === 'server' && <span class="cut">{worksWith(clients)}</span>}
          {stars !== undefined && <Stars count={stars} />}
          {date !== undefined && <Ago at={date} />}
        </span>
      </span>
    </a>
  );
}

/** Publishers choose the text, so it gets no color. */
export function Tier({ tier }: { tier: string }): JSX.Element {
  return (
    <span class="badge plain" title="Stated by the publisher, not verified">
      <UntrustedText text={tier} />
    </span>
  );
}

const short = new Intl.NumberFormat('en', { notation: 'compact' });

/** `★ 1.2K` */
export function Stars({ count }: { count: number }): JSX.Element {
  return (
    <span class="whole" title={`${count.toLocaleString('en')} stars, as the publisher states`}>
      <span aria-hidden="true">★ </span>
      {short.format(count)}
      <span class="hidden"> stars</span>
    </span>
  );
}

/** The title of an entry, or the last segment of its name. */
export function titleOf(title: string | undefined, name: string): string {
  return (title?.trim() && title) || (name.split('/').at(-1) ?? name);
}
