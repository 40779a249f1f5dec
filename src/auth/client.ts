import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import { clientOf } from '../http/client-address.js';
import { ClientGone } from '../http/errors.js';
import type { Departure } from '../limits/semaphore.js';
import type { Caller } from './caller.js';

/** Who waits at the other end of a connection for the answer to one request. */
export class Client {
  constructor(
    private readonly request: Request,
    private readonly response: Response,
  ) {}

  /** Who counts as one client where a limit holds for each of them. */
  get address(): string {
    return clientOf(this.request);
  }

  /** Who counts as one where a limit holds for each caller: who a token names, or else the client. */
  keyOf({ subject, claims }: Caller): string {
    // A subject is unique within its issuer only (RFC 7519 §4.1.2).
    return subject === null ? this.address : JSON.stringify([claims['iss'], subject]);
  }

  /** The same as `gone()`, for a short wait: an AbortSignal would take longer than the wait. */
  get departure(): Departure {
    const { response } = this;
    return {
      get aborted() {
        return response.closed || response.destroyed;
      },
      get reason() {
        return new ClientGone('The client has gone');
      },
      addEventListener: (_type, listener) => void response.once('close', listener),
      removeEventListener: (_type, listener) => void response.off('close', listener),
    };
  }

  /** The same, with all that is done for another caller counted as this one's. */
  countedAs(caller: Caller): Client {
    const key = this.keyOf(caller);
    return Object.create(this, { keyOf: { value: () => key } }) as Client;
  }

  /** Aborts with ClientGone when the connection closes before the answer has been sent. */
  gone(): AbortSignal {
    const { response } = this;
    const gone = new AbortController();
    const close = () => {
      if (!response.writableFinished) gone.abort(new ClientGone('The client has gone'));
    };
    if (response.closed || response.destroyed) close();
    else response.once('close', close);
    return gone.signal;
  }
}

/** The client of the request that is handled. */
export function clientIn(context: ExecutionContext): Client {
  const http = context.switchToHttp();
  return new Client(http.getRequest<Request>(), http.getResponse<Response>());
}

/** The same as an argument of a handler. */
export const CurrentClient = createParamDecorator((_: unknown, context: ExecutionContext) =>
  clientIn(context),
);
