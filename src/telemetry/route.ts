import type { IncomingMessage } from 'node:http';

/**
 * The template of the route that has taken a request, such as `/registry/:registry/v0.1/servers`, and never its path: names
 * in paths are without number, and anybody may make some up. Undefined where no route has taken it.
 */
export function routeOf(request: IncomingMessage): string | undefined {
  // Express writes it when it has found the route.
  const { route } = request as IncomingMessage & { route?: { readonly path?: unknown } };
  const path: unknown = Array.isArray(route?.path) ? route.path[0] : route?.path;
  return typeof path === 'string' ? path : undefined;
}
