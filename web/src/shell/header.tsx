import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ReviewBadge, useDecidableCount, useIsReviewer } from '../admission/review-badge.js';
import { hashOf, type Route } from '../navigation/route.js';
import { LogInButtons } from '../session/log-in-buttons.js';
import { logOut } from '../session/log-in.js';
import { isOffered, useSession } from '../session/session.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import mark from './mark.svg';

export const PAGES = [
  { title: 'Catalog', path: 'catalogue', audience: null },
  { title: 'Connect', path: 'connect', audience: 'caller' },
  { title: 'Publish', path: 'publish', audience: 'manageEntries' },
  { title: 'Review', path: 'review', audience: 'any' },
  { title: 'Sources', path: 'sources', audience: 'manageSources' },
  { title: 'Registries', path: 'registries', audience: 'manageRegistries' },
  { title: 'Access', path: 'access', audience: 'caller' },
  { title: 'Activity', path: 'activity', audience: 'any' },
] as const;

export function Header({ route }: { route: Route }): JSX.Element {
  const session = useSession();
  const decidable = useDecidableCount();
  const isReviewer = useIsReviewer(decidable);
  const current = route.path[0] ?? 'catalogue';
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    // The menu is wider than the screen on phones.
    const link = nav.current?.querySelector<HTMLElement>('[aria-current]');
    if (nav.current && link)
      nav.current.scrollLeft =
        link.offsetLeft - nav.current.offsetLeft - (nav.current.clientWidth - link.offsetWidth) / 2;
  }, [current, session.me]);
  return (
    <header class="top">
      <a class="brand" href="#/catalogue">
        <img src={session.settings.hasLogo ? './logo' : mark} alt="" height="26" />
        {session.settings.title}
      </a>
      <nav aria-label="Pages" ref={nav}>
        {PAGES.filter(
          ({ path, audience }) =>
            audience === null || isOffered(session, audience) || (path === 'review' && isReviewer),
        ).map(({ title, path }) => (
          <a key={path} href={hashOf([path])} aria-current={current === path ? 'page' : undefined}>
            {title}
            {path === 'review' && <ReviewBadge count={decidable} />}
          </a>
        ))}
      </nav>
      <div class="account">
        {session.settings.mode === 'anonymous' && (
          <span class="muted">
            Anonymous mode · <a href="./docs">API</a>
          </span>
        )}
        {session.me && (
          <Menu label={<UntrustedText text={session.me.name ?? (session.me.subject || 'Logged in')} />}>
            {session.me.name !== undefined && (
              <p class="muted">
                <UntrustedText text={session.me.subject} class="break" />
              </p>
            )}
            <p class="muted">
              {session.me.roles.length > 0
                ? session.me.roles.map((role) => ROLE_NAMES[role] ?? role).join(', ')
                : 'Reader (no role)'}
            </p>
            <a href="#/access">My claims</a>
            <a href="./docs">API documentation</a>
            <button type="button" onClick={() => void logOut()}>
              Log out
            </button>
          </Menu>
        )}
        {session.settings.mode === 'oauth' && session.token === null && <LogInButtons small />}
      </div>
    </header>
  );
}

const ROLE_NAMES: Readonly<Record<string, string>> = {
  superAdmin: 'super-admin',
  manageSources: 'manages sources',
  manageRegistries: 'manages registries',
  manageEntries: 'publishes',
};

/** A drop-down menu; closes on Escape and when focus or a click moves elsewhere. */
function Menu({ label, children }: { label: ComponentChildren; children: ComponentChildren }): JSX.Element {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const closeOnEscape = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape' || !menu.current?.open) return;
      menu.current.open = false;
      menu.current.querySelector('summary')?.focus();
    };
    const closeOutside = ({ target }: Event) => {
      if (menu.current && !(target instanceof Node && menu.current.contains(target)))
        menu.current.open = false;
    };
    document.addEventListener('keydown', closeOnEscape);
    for (const event of ['pointerdown', 'focusin'] as const) document.addEventListener(event, closeOutside);
    return () => {
      document.removeEventListener('keydown', closeOnEscape);
      for (const event of ['pointerdown', 'focusin'] as const)
        document.removeEventListener(event, closeOutside);
    };
  }, []);
  return (
    <details class="menu" ref={menu}>
      <summary>{label}</summary>
      <div class="menu-body">{children}</div>
    </details>
  );
}
