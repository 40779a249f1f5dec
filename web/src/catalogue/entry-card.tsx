import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { FoundEntry } from '../api/types.js';
import { entryHash } from '../navigation/route.js';
import { useSession } from '../session/session.js';
import { Badge } from '../ui/badge.js';
import { Ago } from '../ui/format.js';
import { UntrustedText } from '../ui/untrusted-text.js';

const TAGS_SHOWN = 3;

export function EntryCard({ registry, entry }: { registry: string; entry: FoundEntry }): JSX.Element {
  const { type, name, title = '', description = '', version, status, tags, transports, installable } = entry;
  return (
    <a class="card" href={entryHash(registry, entry)}>
      <EntryIcon name={name} icons={[]} />
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
            transports.slice(0, 2).map((fact) => <UntrustedText key={fact} text={fact} class="cut" />)
          )}
          <Ago at={entry.updatedAt} />
        </span>
      </span>
    </a>
  );
}

/** The title of an entry, or the last segment of its name. */
export function titleOf(title: string | undefined, name: string): string {
  return (title?.trim() && title) || (name.split('/').at(-1) ?? name);
}

interface EntryIconProps {
  readonly name: string;
  readonly icons: readonly { readonly src: string; readonly theme?: string }[];
  readonly size?: number;
}

/** The entry's icon if its origin is in `web.iconOrigins`; otherwise a coloured initial. */
export function EntryIcon({ name, icons, size = 40 }: EntryIconProps): JSX.Element {
  const { settings } = useSession();
  const [hasFailed, setFailed] = useState(false);
  const icon = icons.find(({ src }) => settings.iconOrigins.includes(originOf(src)));
  const style = { width: `${size}px`, height: `${size}px` };
  if (icon && !hasFailed)
    return (
      <img
        class="icon"
        src={icon.src}
        alt=""
        loading="lazy"
        decoding="async"
        style={style}
        onError={() => setFailed(true)}
      />
    );
  return (
    <span
      class={`icon hue-${hueOf(name)}`}
      style={{ ...style, fontSize: `${size * 0.45}px` }}
      aria-hidden="true"
    >
      {initialOf(name)}
    </span>
  );
}

function originOf(address: string): string {
  return URL.canParse(address) ? new URL(address).origin : '';
}

function initialOf(name: string): string {
  return (/[\p{L}\p{N}]/u.exec(name.split('/').at(-1) ?? '')?.[0] ?? '?').toUpperCase();
}

function hueOf(name: string): number {
  const [namespace = ''] = name.split('/');
  let sum = 0;
  for (const character of namespace.slice(0, 200)) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 997;
  return sum % 8;
}
