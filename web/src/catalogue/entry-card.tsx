import type { JSX } from 'preact';
import { Badge } from '../ui/badge.js';
import { Plain } from '../ui/plain.js';
import { Ago } from '../ui/time.js';
import { EntryIcon } from './entry-icon.js';
import { entryHash, type Listed } from './listed.js';

export function EntryCard({ registry, listed }: { registry: string; listed: Listed }): JSX.Element {
  const { name, title, description, version, status, updatedAt, icons, transports, packageTypes } = listed;
  return (
    <a class="card" href={entryHash(registry, listed)}>
      <EntryIcon name={name} icons={icons} />
      <span class="card-text">
        <span class="card-title">
          <Plain text={(title.trim() && title) || (name.split('/').at(-1) ?? name)} class="cut" />
          {status !== 'active' && <Badge state={status} />}
        </span>
        <Plain text={name} class="card-name cut" />
        <Plain text={description} class="card-description" />
        <span class="card-facts">
          <Plain text={version} class="cut version" />
          {[...new Set([...packageTypes, ...transports])].slice(0, 3).map((fact) => (
            <Plain key={fact} text={fact} class="cut" />
          ))}
          {updatedAt !== undefined && <Ago at={updatedAt} />}
        </span>
      </span>
    </a>
  );
}
