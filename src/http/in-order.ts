import type { IncomingMessage, ServerResponse } from 'node:http';

export type Middleware<Request extends IncomingMessage = IncomingMessage> = (
  request: Request,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** One middleware of several, in this order. Express looks at every one that it knows, with each request. */
export function inOrder(...steps: readonly Middleware[]): Middleware {
  return (request, response, next) => {
    const goOn = (at: number): void => {
      const step = steps[at];
      if (!step) return next();
      try {
        step(request, response, (error) => (error === undefined ? goOn(at + 1) : next(error)));
      } catch (error) {
        // A step may begin long after Express was left.
        next(error);
      }
    };
    goOn(0);
  };
}
