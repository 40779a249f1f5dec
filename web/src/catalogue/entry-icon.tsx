import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useSession } from '../session/session.js';

interface Props {
  readonly name: string;
  readonly icons: readonly { readonly src: string; readonly theme?: string }[];
  readonly size?: number;
}

/** The icon of an entry, from the origins that the configuration allows; elsewhere its initial, in a colour of its own. */
export function EntryIcon({ name, icons, size = 40 }: Props): JSX.Element {
  const { settings } = useSession();
  const [isBroken, setBroken] = useState(false);
  const icon = icons.find(({ src }) => settings.iconOrigins.includes(originOf(src)));
  const style = { width: `${size}px`, height: `${size}px` };
  if (icon && !isBroken)
    return (
      <img
        class="icon"
        src={icon.src}
        alt=""
        loading="lazy"
        decoding="async"
        style={style}
        onError={() => setBroken(true)}
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
