import type { Claims } from '../claims/claims.js';
import { elements, member } from '../json/json-values.js';
import {
  IsClaims,
  IsDnsLabel,
  IsHttpUrl,
  IsIn,
  IsOptional,
  IsText,
  Validate,
  ValidateClass,
  ValidateNested,
} from '../validation/class-validation.js';
import { isInsecure, parseHttpUrl } from '../validation/urls.js';
import {
  below,
  durationFrom,
  type Issue,
  issue,
  listOf,
  oneOf,
  type Path,
  text,
} from '../validation/value-checks.js';
import { AUDIT_ACTIONS, matchingActions, VIEW_CHANGES } from './audit-actions.js';

/** Each webhook has a page of events in memory and up to eight connections. */
export const MAX_WEBHOOKS = 50;

/** The caller whose view a webhook follows (reference/webhooks). */
export class WebhookViewSettings {
  /** Claims as a provider maps them. */
  @IsClaims() claims: Claims;
  /** Default: every registry whose gate these claims pass. */
  @IsOptional() @IsDnsLabel() registry?: string;
}

/** A receiver of audit events (reference/webhooks). */
@ValidateClass<WebhookItem>(({ actions, as }) => (Array.isArray(actions) ? unknownActions(actions, as) : []))
export class WebhookItem {
  @IsDnsLabel() name: string;
  /** Secret: chat services identify the channel by a token in the path. */
  @IsHttpUrl() url: string;
  /** File with one or two lines of `whsec_` and base64. */
  @IsText() secretFile: string;
  /** Actions such as `entry.publish`, or `entry.*`; default: all. */
  @IsOptional() @Validate(listOf(text(), { notEmpty: true, unique: true })) actions?: string[];
  /** How long a failing delivery is retried before the webhook is paused. */
  @IsOptional() @Validate(durationFrom('1s', '30d')) retryFor?: string;
  @IsOptional() @ValidateNested(() => WebhookViewSettings) as?: WebhookViewSettings;
}

/** Each admission webhook is asked about every document. */
export const MAX_ADMISSION_WEBHOOKS = 10;

export const ASKED_ABOUT = ['publish', 'sync'] as const;
export const FAILURE_OUTCOMES = ['hold', 'reject', 'admit'] as const;

/** A service that is asked what may come in (reference/admission). */
export class AdmissionWebhookItem {
  @IsDnsLabel() name: string;
  /** Secret, as the URL of `WebhookItem`. */
  @IsHttpUrl() url: string;
  /** File with one or two lines of `whsec_` and base64. */
  @IsText() secretFile: string;
  /** Default: both. */
  @IsOptional()
  @Validate(listOf(oneOf(...ASKED_ABOUT), { notEmpty: true, unique: true }))
  on?: (typeof ASKED_ABOUT)[number][];
  /** Until the last byte of the answer. */
  @IsOptional() @Validate(durationFrom('1s', '30s')) timeout?: string;
  @IsOptional() @IsIn(FAILURE_OUTCOMES) onFailure?: (typeof FAILURE_OUTCOMES)[number];
}

/** What may come in, for all sources (reference/admission). */
export class AdmissionSection {
  @IsOptional()
  @ValidateNested(() => AdmissionWebhookItem, { each: true, most: MAX_ADMISSION_WEBHOOKS })
  webhooks?: AdmissionWebhookItem[];
}

function unknownActions(actions: readonly unknown[], as: unknown): Issue[] {
  const words = [...AUDIT_ACTIONS, ...(as === undefined ? [] : VIEW_CHANGES)];
  return actions.flatMap((pattern, position) =>
    typeof pattern === 'string' && matchingActions(pattern, words).length === 0
      ? below(
          ['actions', position],
          issue(`${JSON.stringify(pattern)} matches no action: use a word such as entry.publish, or entry.*`),
        )
      : [],
  );
}

const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;
const MIN_SECRET_BYTES = 24;
const MAX_SECRETS = 2;

/** reference/webhooks: a file holds one secret, or two while the secret is rotated. */
export function parseSecrets(content: string): string[] {
  return content
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Returns the problem with a secret file, if any; does not quote the content. */
export function secretsProblem(content: string): string | undefined {
  const secrets = parseSecrets(content);
  if (secrets.length === 0 || secrets.length > MAX_SECRETS)
    return 'must contain one secret, or two on separate lines';
  const sizes = secrets.map((secret) => Buffer.from(SECRET.exec(secret)?.[1] ?? '', 'base64').length);
  if (sizes.some((size) => size < MIN_SECRET_BYTES))
    return (
      `must contain whsec_ and the base64 of at least ${MIN_SECRET_BYTES} bytes: ` +
      'create a secret with echo "whsec_$(openssl rand -base64 32)"'
    );
  return undefined;
}

/** reference/webhooks: `http://` only on loopback. */
export function insecureWebhooks(webhooks: unknown, above: Path): Issue[] {
  return elements(webhooks).flatMap((webhook, position) => {
    const url = parseHttpUrl(member(webhook, 'url'));
    return url && isInsecure(url)
      ? below(
          [...above, position, 'url'],
          issue('must be https:// (http:// is allowed on loopback, or with REGISTRY_INSECURE_URLS=true)'),
        )
      : [];
  });
}
