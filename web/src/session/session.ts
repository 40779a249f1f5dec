import { useEffect, useState } from 'preact/hooks';
import type { Me, PageSettings } from '../api/types.js';

/** Who is at the page. The token is kept here and nowhere else. */
export interface Session {
  readonly settings: PageSettings;
  readonly token: string | null;
  /** What the API says about them; null while it is not known, and where nobody has logged in. */
  readonly me: Me | null;
  /** The token was refused, or has run out. */
  readonly isOver: boolean;
}

const NOBODY: Session = {
  settings: { mode: 'anonymous', logins: [], iconOrigins: [] },
  token: null,
  me: null,
  isOver: false,
};

class SessionStore {
  current: Session = NOBODY;
  private readonly listeners = new Set<() => void>();

  change(to: Partial<Session>): void {
    this.current = { ...this.current, ...to };
    for (const listener of this.listeners) listener();
  }

  /** The API has answered 401. */
  refused(): void {
    if (this.current.token !== null) this.change({ token: null, me: null, isOver: true });
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
