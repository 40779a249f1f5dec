import { maxHeaderSize } from 'node:http';
import type { Application, Request } from 'express';
import type { Claims } from '../claims/claims.js';
import type { VersionName } from '../documents/entry-types.js';

const WHERE_TO_ASK = 'POST /v1/access/explain shows which step refused this and what may be missing';

/** The sentences of the errors (reference/errors), by status and code. Codes are stable, sentences are not. */
const SENTENCES = {
  400: {
    invalid_parameter: 'A parameter of the request is not valid',
    invalid_cursor: 'The cursor is not valid: start again without a cursor',
    malformed_path: 'The path contains a malformed percent-encoding',
    malformed_json: 'The body is not valid JSON',
    malformed_body: 'The body does not match its headers',
    invalid_body: 'The body is not valid',
    invalid_name:
      'The name must be a DNS label: lower-case letters and digits, with hyphens only inside, at most 63 characters',
    kind_immutable: 'The kind of a source cannot be changed: delete the source and create it again',
    unknown_source: 'The request refers to a source that does not exist',
    path_not_allowed:
      'Sources created through the API may only read regular files below an adminFileRoots entry whose claims the caller satisfies',
    namespace_not_allowed:
      'Kubernetes sources created through the API may only watch the namespaces in adminKubernetesNamespaces',
    not_synced: 'A source of this kind is not synced',
    invalid_document: 'The document is not valid',
    invalid_archive: 'The archive is not valid',
    too_many_claims: 'The body holds more than 1000 claim values, the maximum',
    settings_too_long: 'The settings of a source or registry may have at most 64 KiB of JSON',
    claims_mismatch: 'The claims must equal the claims of the versions already published',
    claims_required: 'Claims are required',
    claims_not_subset: 'The claims are not a subset of your claims',
    name_reserved: 'The name is reserved: both you and the entry need the claims it is reserved for',
    malformed_request: 'The request is not valid HTTP',
    host_refused:
      'In anonymous mode on a loopback address, the Host header must be a loopback name such as localhost',
  },
  401: {
    token_missing: 'A bearer token is required in the Authorization header',
    token_invalid: 'The token is not accepted by this server',
    claims_incomplete: "The token's group list is too long or could not be fetched",
    no_subject: 'The token has neither a subject nor a client',
    caller_blocked: 'The operator of this server has blocked you',
    anonymous_mode: 'This server runs in anonymous mode: callers are not identified',
  },
  403: {
    role_required: 'You have no role that allows this',
    read_only: 'This server is read-only: nothing can be changed through its API',
    origin_refused: 'In anonymous mode, only pages from this server or from cors.origins may make changes',
    registry_forbidden: "You don't have access to this registry",
    config_managed: 'This is declared in the configuration file and can only be changed there',
    config_only:
      'Only the configuration file may open a registry to anonymous callers or keys, unless it sets adminOpenAccess: leave out `anonymous` and `keys`',
    access_undeclared: 'This route does not declare who may use it',
    blocked: 'This version is blocked',
    admission_rejected: 'An admission webhook rejected this version',
    own_publication: 'You published this, so somebody else must decide',
    not_reviewer: 'You can see this item, but deciding it is up to others',
  },
  404: {
    route_not_found: 'There is nothing at this path',
    registry_not_found: 'There is no such registry',
    source_not_found: 'There is no such source',
    webhook_not_found: 'There is no such webhook',
    entry_not_found: 'There is no such entry',
    version_not_found: 'This entry has no such version',
    marketplace_not_found: 'This registry is not served as a marketplace',
    item_not_found: 'There is no such item',
    block_not_found: 'There is no such block',
  },
  405: {
    method_not_allowed: 'This path does not support this method',
  },
  408: {
    request_timeout: 'The request took too long to arrive',
  },
  409: {
    source_in_use: 'The source is part of a registry: remove it from the registry first',
    managed_source_exists: 'A managed source already exists, and there can be only one',
    entry_full:
      'The entry has reached its limit of stored versions or bytes: delete versions or use another name',
    too_many_sources:
      'The limit of sources created through the API is reached: delete one, or ask an operator to raise limits.apiSources',
    too_many_registries:
      'The limit of registries created through the API is reached: delete one, or ask an operator to raise limits.apiRegistries',
    digest_mismatch: 'The digest of this item is different: read the item again before you decide',
    already_decided: 'This item has already been decided',
    already_approved: 'You have already approved this item',
    change_pending: 'Another change to this entry is awaiting review',
    too_many_held: 'You have 1000 publications and changes that are held, the maximum: withdraw some',
    too_many_comments: 'The item has 200 decisions and comments, the maximum',
    too_many_blocks: 'There are 1000 blocks, the maximum: delete one',
    version_exists: 'This version is already published and cannot change: publish a new version',
    no_managed_source: 'There is no managed source to publish to: an administrator has to declare one',
    content_exists: 'The version already has content, which never changes: publish a new version',
  },
  412: {
    precondition_failed: 'The resource does not match If-Match or If-None-Match: read it again',
  },
  413: {
    body_too_large: 'The body is larger than this service accepts',
    content_too_large: 'The content is larger than content.maxBytesPerVersion allows',
  },
  415: {
    unsupported_media_type: 'The body must be JSON in UTF-8 (application/json)',
  },
  417: {
    expectation_failed: 'The Expect header requires something this service does not support',
  },
  422: {
    unprocessable_document: 'The document is not valid',
  },
  429: {
    too_many_requests: 'You have too many requests in progress: try again shortly',
  },
  431: {
    headers_too_large: `The request headers exceed ${maxHeaderSize / 1_024} KiB, the maximum`,
  },
  500: {
    internal_error: 'Internal error: the log has the cause under this requestId',
  },
  501: {
    use_admin_api: 'Entries are changed through the admin API, below /v1/entries',
  },
  503: {
    provider_unavailable: 'The identity provider of this token is unavailable: try again shortly',
    search_too_broad: 'The search takes too long: use a longer or rarer search text',
    overloaded: 'The server is busy with other requests: try again shortly',
    database_unavailable: 'PostgreSQL is not reachable: try again shortly',
    storage_full:
      'The disk of PostgreSQL is full or read-only: nothing can be stored until an operator frees space on it',
    database_timeout: 'PostgreSQL took too long to respond: try again shortly',
  },
  507: {
    marketplace_too_large: 'You can see more plugins, skills or files than a marketplace may contain',
    content_full: 'The content store is full: an operator can raise content.maxBytes',
  },
} as const;

type Sentences = typeof SENTENCES;
export type ErrorCode = { [Status in keyof Sentences]: keyof Sentences[Status] }[keyof Sentences];

/** The error catalog (reference/errors): status and sentence by code. */
export const ERRORS = Object.fromEntries(
  Object.entries(SENTENCES).flatMap(([status, sentences]) =>
    Object.entries(sentences).map(([code, sentence]) => [code, { status: Number(status), sentence }]),
  ),
) as Record<ErrorCode, { readonly status: number; readonly sentence: string }>;

interface RefusedVersion extends VersionName {
  readonly source: string;
}

interface ApiErrorOptions {
  readonly cause?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly refusedClaims?: Claims | undefined;
  readonly refusedVersion?: RefusedVersion | undefined;
  readonly token?: TokenRefusal | undefined;
}

/** Why a token was refused, for the audit trail (reference/audit). Nobody has verified what the token claims. */
export interface TokenRefusal {
  readonly attempts: readonly {
    readonly provider: string;
    /** The check that failed, in one word. */
    readonly check: string;
    readonly expected?: string;
    readonly received?: string;
  }[];
  readonly claimed: { readonly issuer?: string; readonly client?: string };
}

/** An error returned to the caller. Its cause is only logged. */
export class ApiError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The claims of the refused resource, for the audit trail only: they must not influence the response. */
  readonly refusedClaims: Claims | undefined;
  /** The version that the request would have published, for the audit trail only. */
  readonly refusedVersion: RefusedVersion | undefined;
  /** Why the token was refused, for the audit trail only. */
  readonly token: TokenRefusal | undefined;

  constructor(
    readonly code: ErrorCode,
    sentence?: string,
    readonly details?: readonly string[],
    { headers = {}, refusedClaims, refusedVersion, token, ...options }: ApiErrorOptions = {},
  ) {
    super(sentence ?? ERRORS[code].sentence, options);
    this.headers = headers;
    this.refusedClaims = refusedClaims;
    this.refusedVersion = refusedVersion;
    this.token = token;
    this.status = ERRORS[code].status;
  }
}

/** The client closed the connection before the response was ready. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

export interface ErrorBody {
  error: string;
  code: ErrorCode;
  requestId: string;
  details?: readonly string[];
}

/**
 * The last detail of a 403 points to access explanations (reference/explain). A 401 has no such hint, because even
 * explanations need an accepted token.
 */
export function errorBody({ message, code, status, details = [] }: ApiError, requestId: string): ErrorBody {
  const all = status === 403 ? [...details, WHERE_TO_ASK] : details;
  return { error: message, code, requestId, ...(all.length > 0 ? { details: all } : {}) };
}

export function methodNotAllowed(methods: readonly string[]): ApiError {
  const allowed = methods.join(', ');
  return new ApiError('method_not_allowed', `This path only supports ${allowed}`, undefined, {
    headers: { Allow: allowed },
  });
}

/** The part of an Express router layer that is used here. */
interface Layer {
  readonly route?: { readonly path: string | readonly string[]; readonly methods: Record<string, boolean> };
  match(path: string): boolean;
}

/** Paths in which an entry name takes two segments because its slash was decoded. */
const DECODED_NAME = /^\/(registry\/[^/]+\/v0(\.1)?\/servers|v1\/entries\/[^/]+)\/[^/]+\/[^/]+(\/|$)/;

/**
 * Returns the error for a request without a route: 405 with `Allow` when the path has routes for other methods (RFC 9110
 * §15.5.6), otherwise 404, with a hint when a proxy seems to have decoded the slash in a name (reference/errors).
 */
export function routeError({ app, path }: Request): ApiError {
  const methods = methodsAt(app, path);
  if (methods.length > 0) return methodNotAllowed(methods);
  if (!DECODED_NAME.test(path)) return new ApiError('route_not_found');
  return new ApiError('route_not_found', undefined, [
    'The slash in an entry name must arrive as %2F: if you sent it that way, a proxy in front of this server decoded it',
  ]);
}

// Skips wildcard routes, which match every path.
function methodsAt(app: Application, path: string): string[] {
  const { stack } = app.router as unknown as { stack: readonly Layer[] };
  const methods = stack.flatMap((layer) => {
    if (!layer.route || [layer.route.path].flat().some((pattern) => pattern.includes('*'))) return [];
    return layer.match(path) ? Object.keys(layer.route.methods) : [];
  });
  const allowed = new Set(methods.map((method) => method.toUpperCase()));
  if (allowed.has('GET')) allowed.add('HEAD');
  return [...allowed].sort();
}

/** The error codes that each step of a request can return (reference/errors, reference/explain). */
const STEPS = {
  limits: ['too_many_requests', 'overloaded', 'search_too_broad'],
  browser: ['host_refused', 'origin_refused'],
  route: ['route_not_found', 'method_not_allowed', 'use_admin_api'],
  token: [
    'token_missing',
    'token_invalid',
    'claims_incomplete',
    'no_subject',
    'caller_blocked',
    'anonymous_mode',
    'provider_unavailable',
  ],
  roles: ['role_required', 'access_undeclared'],
  read_only: ['read_only'],
  registry: ['registry_not_found'],
  gate: ['registry_forbidden'],
  source: ['source_not_found'],
  entry: ['entry_not_found', 'version_not_found'],
  admission: ['item_not_found', 'blocked', 'admission_rejected', 'own_publication', 'not_reviewer'],
  origin: ['config_managed', 'config_only'],
  claims: ['claims_required', 'claims_not_subset', 'claims_mismatch', 'name_reserved'],
} as const satisfies Record<string, readonly ErrorCode[]>;

export type RefusalStep = keyof typeof STEPS;

const BY_CODE = new Map<ErrorCode, RefusalStep>(
  Object.entries(STEPS).flatMap(([step, codes]) => codes.map((code) => [code, step as RefusalStep] as const)),
);

/** Returns the step that refuses with this code; undefined for invalid requests and server errors. */
export function refusalStep(code: ErrorCode): RefusalStep | undefined {
  return BY_CODE.get(code);
}
