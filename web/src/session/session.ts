import { useEffect, useState } from 'preact/hooks';
import type { Me, PageSettings, Role } from '../api/types.js';

/** The user's session. The token is stored nowhere else. */
interface Session {
  readonly settings: PageSettings;
  readonly token: string | null;
  /** Null until loaded, and if nobody is logged in. */
  readonly me: Me | null;
  /** The token was refused or has expired. */
  readonly isOver: boolean;
}

/** Used until the settings are known: nothing is offered, and nothing is requested for the user. */
const STARTING: Session = {
  settings: {
    mode: 'oauth',
    checksClaims: true,
    logins: [],
    hasIcons: false,
    title: 'Registry',
    hasLogo: false,
  },
  token: null,
  me: null,
  isOver: false,
};

class SessionStore {
  current: Session = STARTING;
  /** Renews the token before it expires. Set after login. */
  keepFresh: () => Promise<void> = () => Promise.resolve();
  private readonly listeners = new Set<() => void>();

  change(to: Partial<Session>): void {
    this.current = { ...this.current, ...to };
    for (const listener of this.listeners) listener();
  }

  async freshToken(): Promise<string | null> {
    await this.keepFresh();
    return this.current.token;
  }

  /** Ends the session after a 401, unless the token has been renewed since then. */
  refused(token: string): void {
    if (this.current.token === token) this.end();
  }

  end(): void {
    this.change({ token: null, me: null, isOver: true });
  }

  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

export const session = new SessionStore();

export function useSession(): Session {
  const [current, setCurrent] = useState(session.current);
  useEffect(() => {
    setCurrent(session.current);
    return session.listen(() => setCurrent(session.current));
  }, []);
  return current;
}

/**
 * Returns whether to show a menu item. The API enforces access; in anonymous mode there are no roles and everything is
 * shown.
 */
export function isOffered({ settings, me }: Session, role: Role | 'any' | 'caller'): boolean {
  if (settings.mode === 'anonymous') return true;
  if (!me) return false;
  if (role === 'caller' || me.roles.includes('superAdmin')) return true;
  return role === 'any' ? me.roles.length > 0 : me.roles.includes(role);
}
