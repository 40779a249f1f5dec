import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import { ClientGone } from '../http/errors.js';
import { clientKeyOf } from '../http/request-context.js';
import type { AbortSource } from '../limits/semaphore.js';
import { type Caller, callerKeyOf } from './caller.js';

/**
 * Aborts when the connection closes. A class, because V8 keeps the accessors of an object literal, and with them the
 * request, until a full garbage collection.
 */
class ConnectionEnd implements AbortSource {
  constructor(private readonly response: Response) {}

  get aborted(): boolean {
    return this.response.closed || this.response.destroyed;
  }

  get reason(): ClientGone {
    return new ClientGone('The client closed the connection');
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.response.once('close', listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.response.off('close', listener);
  }
}

/** The client that waits for the response to one request. */
export class Client {
  constructor(
    private readonly request: Request,
    private readonly response: Response,
  ) {}

  /** Key for limits per client: see `clientKeyOf`. */
  get clientKey(): string {
    return clientKeyOf(this.request);
  }

  /** Key for limits per caller: see `callerKeyOf`. */
  callerKey(caller: Caller): string {
    return callerKeyOf(caller, () => this.clientKey);
  }

  /** A cheaper alternative to `abortSignal()` for waits that may be shorter than creating an AbortSignal. */
  get abortSource(): AbortSource {
    return new ConnectionEnd(this.response);
  }

  /** Returns a copy of this client whose `callerKey` always returns the key of this caller. */
  countedAs(caller: Caller): Client {
    const key = this.callerKey(caller);
    return Object.create(this, { callerKey: { value: () => key } }) as Client;
  }

  /** Returns a signal that aborts with ClientGone when the connection closes before the response is sent. */
  abortSignal(): AbortSignal {
    const { response } = this;
    const gone = new AbortController();
    const close = () => {
      if (!response.writableFinished) gone.abort(new ClientGone('The client closed the connection'));
    };
    if (response.closed || response.destroyed) close();
    else response.once('close', close);
    return gone.signal;
  }
}

/** The client of the current request. */
export function clientIn(context: ExecutionContext): Client {
  const http = context.switchToHttp();
  return new Client(http.getRequest<Request>(), http.getResponse<Response>());
}

/** Handler parameter: the client. */
export const CurrentClient = createParamDecorator((_: unknown, context: ExecutionContext) =>
  clientIn(context),
);
