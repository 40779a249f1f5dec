import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  ArrayUnique,
  IsArray,
  IsIn,
  IsOptional,
  ValidateNested,
} from 'class-validator';
import type { Claims } from '../claims/claims.js';
import { ValidateClass } from '../validation/class-validation.js';
import {
  HasUniqueNames,
  IsClaims,
  IsDnsLabel,
  IsDuration,
  IsFileName,
  IsSecureUrl,
  IsText,
} from '../validation/decorators.js';
import { below, type Issue, issue } from '../validation/value-checks.js';
import { AUDIT_ACTIONS, matchingActions, VIEW_CHANGES } from './audit-actions.js';

/** Each webhook keeps a page of events in memory and has up to eight connections. */
export const MAX_WEBHOOKS = 50;

/** The caller whose view a webhook follows (reference/webhooks). */
export class WebhookViewSettings {
  /** Claims after a provider's mapping. */
  @IsClaims() claims: Claims;
  /** Default: every registry whose gate admits these claims. */
  @IsOptional() @IsDnsLabel() registry: string | null = null;
}

/** A receiver of audit events (reference/webhooks). */
@ValidateClass<WebhookItem>(({ actions, as }) => (Array.isArray(actions) ? unknownActions(actions, as) : []))
export class WebhookItem {
  @IsDnsLabel() name: string;
  /** Secret: chat services identify the channel by a token in the path. */
  @IsSecureUrl() url: string;
  /** File with one or two lines of `whsec_` and base64. */
  @IsFileName() secretFile: string;
  /** Actions such as `entry.publish`, or `entry.*`; default: all. */
  @IsOptional() @IsArray() @ArrayNotEmpty() @IsText({ each: true }) @ArrayUnique() actions: string[] | null =
    null;
  /** How long a failing delivery is retried before the webhook is paused. */
  @IsDuration('1s', '30d') retryFor = '24h';
  @IsOptional() @ValidateNested() @Type(() => WebhookViewSettings) as: WebhookViewSettings | null = null;
}

/** Each admission webhook is asked about every document. */
export const MAX_ADMISSION_WEBHOOKS = 10;

export const ASKED_ABOUT = ['publish', 'sync'] as const;
type AskedAbout = (typeof ASKED_ABOUT)[number];
export const FAILURE_OUTCOMES = ['hold', 'reject', 'admit'] as const;

/** A service that decides which versions are admitted (reference/admission). */
export class AdmissionWebhookItem {
  @IsDnsLabel() name: string;
  /** Secret, like the URL of `WebhookItem`. */
  @IsSecureUrl() url: string;
  /** File with one or two lines of `whsec_` and base64. */
  @IsFileName() secretFile: string;
  @IsArray() @ArrayNotEmpty() @IsIn(ASKED_ABOUT, { each: true }) @ArrayUnique() on: readonly AskedAbout[] =
    ASKED_ABOUT;
  /** Time until the last byte of the response. */
  @IsDuration('1s', '30s') timeout = '5s';
  @IsIn(FAILURE_OUTCOMES) onFailure: (typeof FAILURE_OUTCOMES)[number] = 'hold';
}

/** Which versions are admitted, for all sources (reference/admission). */
export class AdmissionSection {
  @IsArray()
  @ArrayMaxSize(MAX_ADMISSION_WEBHOOKS)
  @HasUniqueNames()
  @ValidateNested({ each: true })
  @Type(() => AdmissionWebhookItem)
  webhooks: AdmissionWebhookItem[] = [];
}

function unknownActions(actions: readonly unknown[], as: unknown): Issue[] {
  const words = [...AUDIT_ACTIONS, ...(as === null ? [] : VIEW_CHANGES)];
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
