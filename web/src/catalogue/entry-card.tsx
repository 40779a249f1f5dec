import type { JSX } from 'preact';
import type { FoundEntry } from '../api/types.js';
import { entryHash } from '../navigation/route.js';
import { Badge } from '../ui/badge.js';
import { Ago } from '../ui/format.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import { EntryIcon } from './entry-icon.js';

const TAGS_SHOWN = 3;

interface CardProps {
  /** Where the card leads. */
  readonly registry: string;
  readonly entry: FoundEntry;
  /** The registries that show the entry, if the card is not part of one registry's list. */
  readonly foundIn?: readonly string[];
}

export function EntryCard({ registry, entry, foundIn }: CardProps): JSX.Element {
  const { type, name, title = '', description = '', version, status, tags, transports, installable } = entry;
  // `updatedAt` may be the time of a sync.
  const date = entry.statedAt ?? entry.publishedAt;
  return (
    <a class="card" href={entryHash(registry, entry)}>
      <EntryIcon registry={registry} type={type} name={name} />
      <span class="card-text">
        <span class="card-title">
          <UntrustedText text={titleOf(title, name)} class="cut" />
          {type !== 'server' && <Badge state={type} />}
          {status !== 'active' && <Badge state={status} />}
        </span>
        <UntrustedText text={name} class="card-name cut" />
        <UntrustedText text={description} class="card-description" />
        {tags.length > 0 && (
          <span class="card-tags">
            {tags.slice(0, TAGS_SHOWN).map((tag) => (
              <UntrustedText key={tag} text={tag} class="chip cut" />
            ))}
            {tags.length > TAGS_SHOWN && <span class="muted">+{tags.length - TAGS_SHOWN}</span>}
          </span>
        )}
        <span class="card-facts">
          <UntrustedText text={version} class="cut version" />
          {type === 'server' && !installable ? (
            <span class="whole">Not installable here</span>
          ) : (
            // The names of the registries need the room.
            transports
              .slice(0, foundIn ? 0 : 2)
              .map((fact) => <UntrustedText key={fact} text={fact} class="cut" />)
          )}
          {foundIn && <UntrustedText text={`in ${foundIn.join(', ')}`} class="cut" />}
          {date !== undefined && <Ago at={date} />}
        </span>
      </span>
    </a>
  );
}

/** The title of an entry, or the last segment of its name. */
export function titleOf(title: string | undefined, name: string): string {
  return (title?.trim() && title) || (name.split('/').at(-1) ?? name);
}
