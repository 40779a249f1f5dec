import { type ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';
import type { OAuthConfig } from '../config/config.js';

/**
 * The security headers of every answer. No HSTS and no upgrade of requests: TLS ends in front of this server, if anywhere. The pages of
 * /docs load only what comes from here; to log in they ask the identity providers for their discovery document and for the token.
 */
export function securityHeaders(oauth: OAuthConfig | undefined): ReadonlyMap<string, string> {
  const logins = new Set(
    (oauth?.providers ?? []).flatMap(({ issuerUrl, connectOrigins }) => [
      new URL(issuerUrl).origin,
      ...connectOrigins,
    ]),
  );
  const middleware = helmet({
    strictTransportSecurity: false,
    crossOriginOpenerPolicy: false,
    // Answers are meant to be read by pages of the origins that CORS names.
    crossOriginResourcePolicy: false,
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'", "'unsafe-inline'"],
        imgSrc: ["'self'", 'data:'],
        connectSrc: ["'self'", ...logins],
        frameAncestors: ["'none'"],
        objectSrc: ["'none'"],
        baseUri: ["'self'"],
      },
    },
  });
  // They are the same on every answer: helmet is asked once.
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  middleware(request, response, () => undefined);
  // With the names as helmet writes them. The types know this of requests alone.
  const { getRawHeaderNames } = response as unknown as Pick<ClientRequest, 'getRawHeaderNames'>;
  return new Map(getRawHeaderNames.call(response).map((name) => [name, String(response.getHeader(name))]));
}

/** Sets these headers on every answer. */
export function setHeaders(
  headers: ReadonlyMap<string, string>,
): (request: IncomingMessage, response: ServerResponse, next: () => void) => void {
  return (_request, response, next) => {
    for (const [name, value] of headers) response.setHeader(name, value);
    next();
  };
}
