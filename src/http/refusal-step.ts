import type { ErrorCode } from './errors.js';

/** The error codes of each step of a request (contract §3, §10). */
const STEPS = {
  limits: ['too_many_requests', 'overloaded', 'search_too_broad'],
  browser: ['host_refused', 'origin_refused'],
  route: ['route_not_found', 'method_not_allowed', 'use_admin_api'],
  token: ['token_missing', 'token_invalid', 'claims_incomplete', 'anonymous_mode', 'provider_unavailable'],
  roles: ['role_required', 'access_undeclared'],
  read_only: ['read_only'],
  registry: ['registry_not_found'],
  gate: ['registry_forbidden'],
  source: ['source_not_found'],
  entry: ['entry_not_found', 'version_not_found'],
  origin: ['config_managed'],
  claims: ['claims_required', 'claims_not_subset', 'claims_mismatch', 'name_reserved'],
} as const satisfies Record<string, readonly ErrorCode[]>;

export type RefusalStep = keyof typeof STEPS;

const BY_CODE = new Map<ErrorCode, RefusalStep>(
  Object.entries(STEPS).flatMap(([step, codes]) => codes.map((code) => [code, step as RefusalStep] as const)),
);

/** The step that refuses with this code; undefined for invalid requests and server errors. */
export function refusalStep(code: ErrorCode): RefusalStep | undefined {
  return BY_CODE.get(code);
}
