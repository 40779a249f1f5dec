import type { IncomingMessage } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import { clientKeyOf } from '../http/client-address.js';
import { ClientGone } from '../http/errors.js';
import type { AbortSource } from '../limits/semaphore.js';

/** Who sent this request. Built once by the AuthGuard and passed on as a value. */
export interface Caller {
  /** The token's `sub`; null when there was no token, or the token has no subject. */
  readonly subject: string | null;
  /** The client that the token was issued to, where it says so (RFC 9068 `client_id`, OpenID Connect `azp`). */
  readonly client?: string;
  /** Those of the token that count: every one, or what the provider's `claims` make of them. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Was there a token to identify the caller? */
  readonly identified: boolean;
  /** The name of the registry's key that the caller came with in place of a token. */
  readonly key?: string;
}

/** Every caller in anonymous mode (spec §1.2), and those without a token on one of the configured public paths. */
export const UNIDENTIFIED_CALLER: Caller = Object.freeze({
  subject: null,
  claims: Object.freeze({}),
  identified: false,
});

/** spec §2.3. Apart from the decorators of routes: whoever judges claims offline needs no framework. */
export const ROLES = ['superAdmin', 'manageSources', 'manageRegistries', 'manageEntries'] as const;
export type Role = (typeof ROLES)[number];

export interface AuthenticatedRequest extends Request {
  caller?: Caller;
}

/**
 * The caller the AuthGuard found.
 *
 * @throws Error when there is none: that is a bug of this server and never "anonymous".
 */
export function callerOf(context: ExecutionContext): Caller {
  const { caller } = context.switchToHttp().getRequest<AuthenticatedRequest>();
  if (!caller) throw new Error('A guarded route was reached without a caller');
  return caller;
}

/** The caller of a request, for what is told of it afterwards; undefined where none was found. */
export function requestCaller(request: IncomingMessage): Caller | undefined {
  return (request as AuthenticatedRequest).caller;
}

/** The caller as an argument of a handler. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext) =>
  callerOf(context),
);

/** Who waits at the other end of a connection for the answer to one request. */
export class Client {
  constructor(
    private readonly request: Request,
    private readonly response: Response,
  ) {}

  /** Who counts as one client where a limit holds for each of them. */
  get clientKey(): string {
    return clientKeyOf(this.request);
  }

  /** Who counts as one where a limit holds for each caller: who a token names, or else the client. */
  callerKey({ subject, claims }: Caller): string {
    // A subject is unique within its issuer only (RFC 7519 §4.1.2).
    return subject === null ? this.clientKey : JSON.stringify([claims['iss'], subject]);
  }

  /** The same as `abortSignal()`, for a short wait: an AbortSignal would take longer than the wait. */
  get abortSource(): AbortSource {
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
    const key = this.callerKey(caller);
    return Object.create(this, { callerKey: { value: () => key } }) as Client;
  }

  /** Aborts with ClientGone when the connection closes before the answer has been sent. */
  abortSignal(): AbortSignal {
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
