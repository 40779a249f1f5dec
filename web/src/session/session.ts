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
  /** Renews the token when it is about to run out; of whoever has logged somebody in. */
  keepFresh: () => Promise<void> = () => Promise.resolve();
  private readonly listeners = new Set<() => void>();

  change(to: Partial<Session>): void {
    this.current = { ...this.current, ...to };
    for (const listener of this.listeners) listener();
  }

  /** The token for a request. */
  async freshToken(): Promise<string | null> {
    await this.keepFresh();
    return this.current.token;
  }

  /** The API has answered 401 to a request with this token. It may be late: by now there may be another one. */
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
