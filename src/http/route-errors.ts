import type { Application, Request } from 'express';
import { ApiError } from './errors.js';

/** A layer of Express' router, as far as it is looked at here. */
interface Layer {
  readonly route?: { readonly path: string | readonly string[]; readonly methods: Record<string, boolean> };
  match(path: string): boolean;
}

/** Paths of entries with a name that has come in two segments. */
const DECODED_NAME = /^\/(registry\/[^/]+\/v0(\.1)?\/servers|v1\/entries\/[^/]+)\/[^/]+\/[^/]+(\/|$)/;

/**
 * The refusal of a request that no route takes: 405 with `Allow` when the path has routes of other methods (RFC 9110 §15.5.6),
 * otherwise 404. Says so when a name has come with its slash decoded, which some proxies do (contract §3).
 */
export function routeError({ app, path }: Request): ApiError {
  const methods = methodsAt(app, path);
  if (methods.length > 0) {
    const allowed = methods.join(', ');
    return new ApiError('method_not_allowed', `This path takes ${allowed} alone`, undefined, {
      headers: { Allow: allowed },
    });
  }
  if (!DECODED_NAME.test(path)) return new ApiError('route_not_found');
  return new ApiError('route_not_found', undefined, [
    'The slash in the name of an entry has to arrive as %2F: if it was sent so, a proxy in front of this server has decoded it',
  ]);
}

// Routes that take any path below theirs say nothing about this one.
function methodsAt(app: Application, path: string): string[] {
  const { stack } = app.router as unknown as { stack: readonly Layer[] };
  const methods = stack.flatMap((layer) => {
    if (!layer.route || [layer.route.path].flat().some((pattern) => pattern.includes('*'))) return [];
    return layer.match(path) ? Object.keys(layer.route.methods) : [];
  });
  const known = new Set(methods.map((method) => method.toUpperCase()));
  if (known.has('GET')) known.add('HEAD');
  return [...known].sort();
}
