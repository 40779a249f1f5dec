import type { JSX } from 'preact';
import { hashOf, type Route } from '../navigation/route.js';
import { logOut } from '../session/log-in.js';
import { offers } from '../session/roles.js';
import { useSession } from '../session/session.js';
import { Menu } from '../ui/menu.js';
import { Plain } from '../ui/plain.js';
import { wordFor } from '../api/word-for.js';
import { LogInButtons } from './log-in-buttons.js';
import mark from './mark.svg';

const PLACES = [
  { name: 'Catalogue', path: 'catalogue', to: null },
  { name: 'Publish', path: 'publish', to: 'manageEntries' },
  { name: 'Sources', path: 'sources', to: 'manageSources' },
  { name: 'Registries', path: 'registries', to: 'manageRegistries' },
  { name: 'Access', path: 'access', to: 'caller' },
  { name: 'Activity', path: 'activity', to: 'any' },
] as const;

export function Header({ route }: { route: Route }): JSX.Element {
  const session = useSession();
  const place = route.path[0] ?? 'catalogue';
  return (
    <header class="top">
      <a class="brand" href="#/catalogue">
        <img src={mark} alt="" width="26" height="26" />
        Registry
      </a>
      <nav aria-label="Pages">
        {PLACES.filter(({ to }) => to === null || offers(session, to)).map(({ name, path }) => (
          <a key={path} href={hashOf([path])} aria-current={place === path ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <div class="who">
        {session.settings.mode === 'anonymous' && <span class="muted">no log-in needed</span>}
        {session.me && (
          <Menu label={<Plain text={session.me.subject || 'logged in'} />}>
            <p class="muted">
              {session.me.roles.length > 0 ? session.me.roles.map(roleName).join(', ') : 'Reader: no role'}
            </p>
            <button type="button" onClick={logOut}>
              Log out
            </button>
          </Menu>
        )}
        {session.settings.mode === 'oauth' && session.token === null && <LogInButtons small />}
      </div>
    </header>
  );
}

function roleName(role: string): string {
  return wordFor(ROLE_NAMES, role) ?? role;
}

const ROLE_NAMES: Readonly<Record<string, string>> = {
  superAdmin: 'Super-admin',
  manageSources: 'manages sources',
  manageRegistries: 'manages registries',
  manageEntries: 'publishes',
};
