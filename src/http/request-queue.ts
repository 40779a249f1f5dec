import { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { clientNetwork } from './request-context.js';

/** Maximum time that one turn of the event loop spends starting requests. */
const SLICE_MS = 3;

/** Maximum number of event loop turns that new connections may delay queued requests. */
const MAX_ACCEPTING_TURNS = 100;

/**
 * Starts requests round-robin by client. Otherwise a client with a thousand connections would delay all others
 * (docs/decisions/013-runtime-tuning.md). Accepts pending connections first, because their clients are unknown until then.
 */
export class RequestQueue {
  /** Queued requests by client, next client first. */
  private readonly queues = new Map<string, (() => void)[]>();
  /** When this turn of the event loop started its first request. */
  private sliceStart: number | undefined;
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
    if (this.queues.size === 0 && !this.hasAccepted && this.hasTime()) {
      next();
      return;
    }
    const client = clientNetwork(request.socket.remoteAddress);
    const queue = this.queues.get(client) ?? [];
    queue.push(() => {
      if (!response.destroyed) next();
    });
    this.queues.set(client, queue);
  };

  private hasTime(): boolean {
    const now = performance.now();
    this.sliceStart ??= now;
    return now - this.sliceStart < SLICE_MS;
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(this.turn);
  }

  private readonly turn = (): void => {
    this.isScheduled = false;
    const isAccepting = this.hasAccepted && this.acceptingTurns < MAX_ACCEPTING_TURNS;
    this.hasAccepted = false;
    this.acceptingTurns = isAccepting ? this.acceptingTurns + 1 : 0;
    if (!isAccepting) this.startRequests();
    if (this.queues.size > 0) this.schedule();
    this.sliceStart = undefined;
  };

  private startRequests(): void {
    for (const [client, queue] of this.queues) {
      if (!this.hasTime()) return;
      const start = queue.shift();
      // Requeue before starting: a request may finish immediately, and its connection's next request is then enqueued.
      this.queues.delete(client);
      if (queue.length > 0) this.queues.set(client, queue);
      start?.();
    }
  }
}
