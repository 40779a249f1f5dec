import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { clientNetwork } from './client-address.js';

/** How long requests may be begun for in one turn of the event loop. */
const SLICE_MS = 3;
/** Turns of the event loop in which connections are accepted, one or a few in each, before waiting requests go on all the same. */
const ACCEPTING_TURNS = 100;

/**
 * Begins the requests of each client in turn. Those that come at once, a thousand on as many connections, would otherwise be
 * answered in the order in which they came, and everybody behind them would wait for all of them. Connections are accepted
 * first: whose request is behind them can't be seen before.
 */
export class RequestTurns {
  /** What waits, by client, in the order in which the clients come next. */
  private readonly waiting = new Map<string, (() => void)[]>();
  /** When the first request of this turn of the event loop was begun. */
  private began: number | undefined;
  private isScheduled = false;
  private hasAccepted = false;
  private acceptingTurns = 0;

  constructor(server: Server) {
    server.on('connection', () => {
      this.hasAccepted = true;
      this.schedule();
    });
  }

  readonly middleware = (request: IncomingMessage, response: ServerResponse, next: () => void): void => {
    this.schedule();
    if (this.waiting.size === 0 && !this.hasAccepted && this.hasTime()) {
      next();
      return;
    }
    const client = clientNetwork(request.socket.remoteAddress);
    const queue = this.waiting.get(client) ?? [];
    queue.push(() => {
      if (!response.destroyed) next();
    });
    this.waiting.set(client, queue);
  };

  private hasTime(): boolean {
    const now = performance.now();
    this.began ??= now;
    return now - this.began < SLICE_MS;
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(this.turn);
  }

  private readonly turn = (): void => {
    this.isScheduled = false;
    const isAccepting = this.hasAccepted && this.acceptingTurns < ACCEPTING_TURNS;
    this.hasAccepted = false;
    this.acceptingTurns = isAccepting ? this.acceptingTurns + 1 : 0;
    if (!isAccepting) this.beginSome();
    if (this.waiting.size > 0) this.schedule();
    this.began = undefined;
  };

  private beginSome(): void {
    for (const [client, queue] of this.waiting) {
      if (!this.hasTime()) return;
      const begin = queue.shift();
      // Behind all others, if there is more of it. Before it begins: what begins may end at once and bring the next of its connection.
      this.waiting.delete(client);
      if (queue.length > 0) this.waiting.set(client, queue);
      begin?.();
    }
  }
}
