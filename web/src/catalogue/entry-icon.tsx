import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { API_BASE, send } from '../api/client.js';
import type { EntryType } from '../api/types.js';
import { useSession } from '../session/session.js';

interface Props {
  readonly registry: string;
  readonly type: EntryType;
  readonly name: string;
  readonly size?: number;
}

/** The entry's icon, if the server can show it; until then, and otherwise, a colored initial. */
export function EntryIcon({ registry, type, name, size = 40 }: Props): JSX.Element {
  const { settings } = useSession();
  const [icon, setIcon] = useState<string | null>(null);
  useEffect(() => {
    setIcon(null);
    if (!settings.hasIcons) return undefined;
    let isCurrent = true;
    void iconOf(registry, type, name).then((url) => isCurrent && setIcon(url));
    return () => {
      isCurrent = false;
    };
  }, [settings.hasIcons, registry, type, name]);
  const style = { width: `${size}px`, height: `${size}px` };
  if (icon !== null)
    return (
      <img class="icon" src={icon} alt="" decoding="async" style={style} onError={() => setIcon(null)} />
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

const MAX_KEPT = 500;
const MAX_CONCURRENT = 4;

/** Object URLs of icons, oldest first. They end with the page, and therefore when the user logs out. */
const icons = new Map<string, Promise<string | null>>();
const waiting: (() => void)[] = [];
let running = 0;

function iconOf(registry: string, type: EntryType, name: string): Promise<string | null> {
  const path = [registry, 'v0.1', 'x', 'icon', type, name].map(encodeURIComponent).join('/');
  const known = icons.get(path);
  if (known) return known;
  const icon = read(`${API_BASE}/registry/${path}`).catch(() => null);
  icons.set(path, icon);
  for (const [oldest, url] of icons) {
    if (icons.size <= MAX_KEPT) break;
    icons.delete(oldest);
    void url.then((each) => each !== null && URL.revokeObjectURL(each));
  }
  return icon;
}

/** An `img` element cannot send the token, so the image is fetched and shown from memory. */
async function read(url: string): Promise<string | null> {
  while (running >= MAX_CONCURRENT) await new Promise<void>((go) => waiting.push(go));
  running += 1;
  try {
    const response = await send(new Request(url));
    return response.status === 200 ? URL.createObjectURL(await response.blob()) : null;
  } finally {
    running -= 1;
    waiting.shift()?.();
  }
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
