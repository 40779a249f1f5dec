import { ErrorResponse, type User, type UserManager } from 'oidc-client-ts';
import { session } from './session.js';

/** A token is renewed when a quarter of its life is left, a minute at the most. */
const SHARE = 4;
const NOTICE_MS = 60_000;
const LOOK_MS = 1_000;
const PAUSE_MS = 5_000;
/** A computer that wakes up has no network yet. */
const GIVE_UP_MS = 60_000;

/**
 * Keeps the token of the session fresh, by the refresh token alone: an invisible frame would need the page to be framed, which it
 * never is. Looks at the clock, as timers stand still while a computer sleeps.
 */
export class Renewal {
  private dueAt = Infinity;
  private endsAt = Infinity;
  private underWay: Promise<void> | undefined;
  private timer: number | undefined;

  constructor(
    private readonly manager: UserManager,
    private readonly renewed: () => Promise<void>,
  ) {}

  begin(user: User): void {
    this.take(user);
    this.timer = window.setInterval(() => void this.keepFresh(), LOOK_MS);
    session.keepFresh = () => this.keepFresh();
  }

  private take({ expires_in: seconds }: User): void {
    const lifeMs = seconds === undefined ? Infinity : seconds * 1_000;
    this.endsAt = Date.now() + lifeMs;
    this.dueAt = this.endsAt - Math.min(NOTICE_MS, lifeMs / SHARE);
  }

  private keepFresh(): Promise<void> {
    if (session.current.token === null) this.stop();
    if (Date.now() < this.dueAt) return Promise.resolve();
    this.underWay ??= this.renew().finally(() => (this.underWay = undefined));
    return this.underWay;
  }

  private async renew(): Promise<void> {
    const before = await this.manager.getUser();
    if (before?.refresh_token === undefined) return this.endAt(this.endsAt);
    try {
      const user = await this.manager.signinSilent();
      if (!user || session.current.token === null) return;
      this.take(user);
      session.change({ token: user.access_token });
      // What they may do may have changed with it. Not waited for: it is asked with the new token itself.
      void this.renewed().catch(() => undefined);
    } catch (thrown) {
      // The provider has said no, which it will say again; or it could not be asked.
      if (thrown instanceof ErrorResponse) this.endAt(this.endsAt);
      else if (Date.now() < this.endsAt + GIVE_UP_MS) this.dueAt = Date.now() + PAUSE_MS;
      else this.endAt(this.endsAt);
    }
  }

  /** Until then the token is good. */
  private endAt(time: number): void {
    this.dueAt = time;
    if (Date.now() < time) return;
    this.stop();
    session.end();
  }

  private stop(): void {
    clearInterval(this.timer);
    this.dueAt = Infinity;
  }
}
