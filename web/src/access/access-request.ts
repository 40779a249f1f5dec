import { NEW_NAME, parseHash } from '../navigation/route.js';

/** What a person asks an administrator for. */
export interface AccessRequest {
  readonly address: string;
  /** Describes the subject, such as `server com.example/weather in the registry acme`. */
  readonly subject: string;
  /** Name or subject of the person; empty if they are not logged in. */
  readonly person: string;
  readonly missing?: readonly string[] | undefined;
  readonly requestId?: string | undefined;
  readonly code?: string | undefined;
  readonly at: Date;
  /** Address of the explanation for this person's claims. */
  readonly explanation?: string | undefined;
}

/** Returns a message that the person can send to an administrator. */
export function accessRequestText(request: AccessRequest): string {
  const { address, subject, person, missing = [], requestId, code, at, explanation } = request;
  return [
    `Hello, could I get access to the ${subject}?`,
    '',
    ...(person === '' ? [] : [`I am logged in as ${person}.`]),
    ...(missing.length === 0 ? [] : [`I lack these claims: ${missing.join(', ')}.`]),
    `Page: ${address}`,
    ...(requestId === undefined ? [] : [`Request: ${requestId} (${code ?? ''}, ${at.toISOString()})`]),
    ...(explanation === undefined ? [] : [`For administrators, why: ${explanation}`]),
  ].join('\n');
}

/** Converts the current page into a question for the Access page; null for pages that it does not explain. */
export function questionOf(hash: string): Readonly<Record<string, string>> | null {
  const [page = '', first = '', type = '', entry = ''] = parseHash(hash).path;
  switch (page) {
    case 'catalogue':
    case 'connect':
      return first === '' ? null : { registry: first, type: type === 'server' ? '' : type, entry };
    case 'registries':
      return first === '' || first === NEW_NAME ? null : { registry: first, action: 'manage' };
    case 'publish':
      return type === '' ? null : { type: first === 'server' ? '' : first, entry: type, action: 'manage' };
    default:
      return null;
  }
}

/** `server com.example/weather in the registry acme` */
export function subjectOf({
  registry = '',
  type = '',
  entry = '',
}: Readonly<Record<string, string>>): string {
  const place = registry === '' ? '' : `registry ${registry}`;
  if (entry === '') return place;
  return `${type || 'server'} ${entry}${place === '' ? '' : ` in the ${place}`}`;
}
