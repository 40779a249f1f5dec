import type { Request } from 'express';
import type { AuditDeclaration, LoadedRequest, NamedResource } from '../auth/route.js';
import { isEntryType } from '../documents/entry-types.js';
import type { AuditTarget } from './audit-event.js';

/** What a route says of itself, as far as the audit trail is concerned. */
export interface DeclaredRoute {
  readonly audited: AuditDeclaration | undefined;
  readonly named: NamedResource | undefined;
  /** Whether it is about one registry as consumers see it. */
  readonly isRegistryRoute: boolean;
  /** Whether something is published through a registry by it. */
  readonly isPublisherRoute: boolean;
}

/** What a request names, by what its route declares (contract §9); the route itself where that is nothing. */
export function targetOf(request: LoadedRequest, route: DeclaredRoute | undefined): AuditTarget {
  const text = (parameter: string): string | undefined => {
    const value: unknown = request.params?.[parameter];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const name = text('name');
  const version = text('version');
  if (route?.isRegistryRoute && request.readEntry)
    return { ...request.readEntry, registry: text('registry') ?? '' };
  if (route?.isRegistryRoute || route?.isPublisherRoute) return consumerTarget(text, route.audited);
  if (route?.named && name !== undefined) {
    const { resource } = route.named;
    if (resource !== 'entry') return { type: resource, name };
    const type = text('type') ?? '';
    if (isEntryType(type)) return { type, name, ...(version === undefined ? {} : { version }) };
  }
  return { type: 'route', name: `${request.method} ${patternOf(request)}`.trim() };
}

function consumerTarget(
  text: (parameter: string) => string | undefined,
  audited: AuditDeclaration | undefined,
): AuditTarget {
  const registry = text('registry') ?? '';
  const name = text('name');
  const version = text('version');
  if (audited?.entryType === undefined || name === undefined) return { type: 'registry', name: registry };
  const namespace = text('namespace');
  return {
    type: audited.entryType,
    name: namespace === undefined ? name : `${namespace}/${name}`,
    ...(version === undefined ? {} : { version }),
    registry,
  };
}

// The pattern, and not the path: that may hold what is nobody's to read.
function patternOf({ route }: Request): string {
  const path: unknown = (route as { path?: unknown } | undefined)?.path;
  return typeof path === 'string' ? path : '';
}
