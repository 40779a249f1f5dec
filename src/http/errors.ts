import type { Application, Request } from 'express';
import type { Claims } from '../claims/claims.js';

/** contract §10: where those who are refused can ask why. */
const WHERE_TO_ASK = 'POST /v1/access/explain says which step has refused this, and what may be missing';

/** The `details` of an error answer: of every 401 and 403 they say, at their end, where to ask why. */
export function refusalDetails(status: number, details: readonly string[]): readonly string[] {
  return status === 401 || status === 403 ? [...details, WHERE_TO_ASK] : details;
}

/**
 * The catalogue of errors: for each stable code its status and its sentence. Codes never change, sentences may.
 * contract: the body is `{ error, code, requestId, details? }`.
 */
export const ERROR_CATALOGUE = {
  invalid_parameter: { status: 400, sentence: 'A parameter of the request is not valid' },
  invalid_cursor: {
    status: 400,
    sentence: 'The cursor is not valid: start again without a cursor',
  },
  too_many_servers: {
    status: 400,
    sentence:
      'The registry shows more servers than the configuration of a client may hold: use one that shows fewer',
  },
  malformed_path: { status: 400, sentence: 'The path holds a malformed percent-encoding' },
  malformed_json: { status: 400, sentence: 'The body is not valid JSON' },
  malformed_body: { status: 400, sentence: 'The body could not be read as its headers describe it' },
  invalid_body: { status: 400, sentence: 'The body is not valid' },
  invalid_name: {
    status: 400,
    sentence:
      'The name must be a DNS label: lower-case letters, digits and "-" inside, at most 63 characters',
  },
  kind_immutable: {
    status: 400,
    sentence: 'The kind of a source cannot be changed: delete the source and create it anew',
  },
  unknown_source: { status: 400, sentence: 'A source that is named here does not exist' },
  path_not_allowed: {
    status: 400,
    sentence:
      "Sources made through the API may read regular files below adminFileRoots only, where those are for the caller's claims",
  },
  namespace_not_allowed: {
    status: 400,
    sentence:
      'Sources of kind kubernetes made through the API may watch the namespaces of adminKubernetesNamespaces only',
  },
  not_synced: { status: 400, sentence: 'A source of this kind is not synced' },
  invalid_document: { status: 400, sentence: 'The document is not valid' },
  claims_mismatch: {
    status: 400,
    sentence: 'The claims differ from those of the versions published before: they must be equal',
  },
  claims_required: { status: 400, sentence: 'Claims are required here' },
  claims_not_subset: { status: 400, sentence: 'The claims go beyond those of the caller' },
  name_reserved: {
    status: 400,
    sentence:
      'The name is reserved: the claims it is reserved for must be held by the caller and be among those of the entry',
  },
  malformed_request: { status: 400, sentence: 'The request is not valid HTTP' },
  host_refused: {
    status: 400,
    sentence:
      'Without tokens and on a loopback address this server answers to loopback names alone, such as localhost',
  },
  token_missing: { status: 401, sentence: 'A bearer token is required in the Authorization header' },
  token_invalid: { status: 401, sentence: 'The token is not accepted by this server' },
  claims_incomplete: {
    status: 401,
    sentence: "The token's group list is too long or could not be fetched",
  },
  anonymous_mode: { status: 401, sentence: 'This server runs in anonymous mode: callers are not identified' },
  role_required: { status: 403, sentence: 'The caller has no role that allows this' },
  read_only: { status: 403, sentence: 'This server is read-only: nothing can be changed through its API' },
  origin_refused: {
    status: 403,
    sentence:
      'Without tokens only pages of this server, and of the origins named in cors.origins, may change something',
  },
  route_not_found: { status: 404, sentence: 'There is nothing at this path' },
  registry_not_found: { status: 404, sentence: 'There is no such registry' },
  source_not_found: { status: 404, sentence: 'There is no such source' },
  entry_not_found: { status: 404, sentence: 'There is no such entry' },
  version_not_found: { status: 404, sentence: 'This entry has no such version' },
  registry_forbidden: { status: 403, sentence: 'The caller may not enter this registry' },
  config_managed: {
    status: 403,
    sentence: 'This comes from the configuration file and can be changed there only',
  },
  method_not_allowed: { status: 405, sentence: 'This path does not take this method' },
  access_undeclared: { status: 403, sentence: 'This route does not declare who may use it' },
  request_timeout: { status: 408, sentence: 'The request took too long to arrive' },
  source_in_use: {
    status: 409,
    sentence: 'The source is part of a registry: remove it from the registry first',
  },
  managed_source_exists: {
    status: 409,
    sentence: 'There is a managed source already, and there can be only one',
  },
  version_exists: {
    status: 409,
    sentence: 'This version is published already, and a published version never changes: publish another',
  },
  no_managed_source: {
    status: 409,
    sentence: 'There is no managed source to publish to: an administrator has to declare one',
  },
  precondition_failed: {
    status: 412,
    sentence: 'The resource is not, or no longer, what If-Match or If-None-Match expects: read it again',
  },
  body_too_large: { status: 413, sentence: 'The body is larger than this service accepts' },
  unprocessable_document: { status: 422, sentence: 'The document is not valid' },
  unsupported_media_type: { status: 415, sentence: 'The body must be JSON in UTF-8 (application/json)' },
  expectation_failed: {
    status: 417,
    sentence: 'The Expect header asks for something this service does not support',
  },
  too_many_requests: {
    status: 429,
    sentence: 'Too many requests of this client are under way: try again shortly',
  },
  headers_too_large: {
    status: 431,
    sentence: 'The headers of the request are larger than this service accepts',
  },
  use_admin_api: { status: 501, sentence: 'Entries are changed through the admin API, below /v1/entries' },
  internal_error: {
    status: 500,
    sentence: 'Internal error; the log has the cause under the requestId',
  },
  provider_unavailable: {
    status: 503,
    sentence: 'The identity provider of this token is unavailable: try again shortly',
  },
  search_too_broad: {
    status: 503,
    sentence: 'The search takes too long: search for a longer or rarer text',
  },
  overloaded: { status: 503, sentence: 'The server is busy with other requests: try again shortly' },
  database_unavailable: { status: 503, sentence: 'PostgreSQL is not reachable: try again shortly' },
  database_timeout: { status: 503, sentence: 'PostgreSQL took too long to answer: try again shortly' },
} as const satisfies Record<string, { status: number; sentence: string }>;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;

interface ApiErrorOptions {
  readonly cause?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly refusedClaims?: Claims | undefined;
}

/** A refusal a caller may read. Its cause, if any, goes to the log only. */
export class ApiError extends Error {
  readonly status: number;
  /** To be sent with the answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** The claims of what is there and was refused, for the audit trail alone: no answer may depend on whether there are any. */
  readonly refusedClaims: Claims | undefined;

  constructor(
    readonly code: ErrorCode,
    sentence?: string,
    readonly details?: readonly string[],
    { headers = {}, refusedClaims, ...options }: ApiErrorOptions = {},
  ) {
    super(sentence ?? ERROR_CATALOGUE[code].sentence, options);
    this.headers = headers;
    this.refusedClaims = refusedClaims;
    this.status = ERROR_CATALOGUE[code].status;
  }
}

/** Nobody is there to be answered: the client has closed the connection before the answer was ready. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

export interface ErrorBody {
  error: string;
  code: ErrorCode;
  requestId: string;
  details?: readonly string[];
}

/** The body of an error answer. */
export function errorBody({ message, code, status, details = [] }: ApiError, requestId: string): ErrorBody {
  const all = refusalDetails(status, details);
  return { error: message, code, requestId, ...(all.length > 0 ? { details: all } : {}) };
}

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
