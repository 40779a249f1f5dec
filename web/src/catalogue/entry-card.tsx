import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useSession } from '../session/session.js';
import { Badge } from '../ui/badge.js';
import { Ago } from '../ui/format.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import { entryHash, type EntrySummary } from './entry-summary.js';

export function EntryCard({ registry, entry }: { registry: string; entry: EntrySummary }): JSX.Element {
  const { name, title, description, version, status, updatedAt, icons, transports, packageTypes } = entry;
  return (
    <a class="card" href={entryHash(registry, entry)}>
      <EntryIcon name={name} icons={icons} />
      <span class="card-text">
        <span class="card-title">
          <UntrustedText text={(title.trim() && title) || (name.split('/').at(-1) ?? name)} class="cut" />
          {status !== 'active' && <Badge state={status} />}
        </span>
        <UntrustedText text={name} class="card-name cut" />
        <UntrustedText text={description} class="card-description" />
        <span class="card-facts">
          <UntrustedText text={version} class="cut version" />
          {[...new Set([...packageTypes, ...transports])].slice(0, 3).map((fact) => (
            <UntrustedText key={fact} text={fact} class="cut" />
          ))}
          {updatedAt !== undefined && <Ago at={updatedAt} />}
        </span>
      </span>
    </a>
  );
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
