export const POLICIES = [
  'minAge',
  'newNames',
  'changed',
  'rule',
  'content',
  'review',
  'block',
  'webhook',
] as const;

type Policy = (typeof POLICIES)[number];

/** Why a version or change is held (reference/admission). */
export interface HoldReason {
  /** `removed` is not shown. */
  readonly policy: Policy | 'removed';
  readonly message: string;
  /** When this reason expires by itself (RFC 3339). */
  readonly dueAt?: string;
  /** The block, for `policy: block`. Not shown. */
  readonly block?: string;
  /** The admission webhook, for `policy: webhook`. Not shown. */
  readonly webhook?: string;
  /** Whether the webhook gave no valid response. Not shown. */
  readonly failed?: boolean;
}

export const CONTENT_MISSING: HoldReason = {
  policy: 'content',
  message: 'A rule about its contents can only decide once they are stored',
};

/** Added to what blocks hold when its source drops it: only deny-lists still name it, and it never returns. */
export const REMOVED: HoldReason = { policy: 'removed', message: 'Its source no longer has it' };

/** Returns whether a version is remembered only for deny-lists. */
export function isRemoved({ reasons }: { readonly reasons: readonly HoldReason[] }): boolean {
  return reasons.some(({ policy }) => policy === 'removed');
}

/** Returns the reason for holding an item whose content is now stored, so that the item is decided again. */
export function contentStored(now: Date): HoldReason {
  return { policy: 'content', message: 'Its content is stored', dueAt: now.toISOString() };
}

export interface ShownReason extends Pick<HoldReason, 'message' | 'dueAt'> {
  readonly policy: Policy;
}

/** The outcome of admission. */
export type Verdict =
  | { readonly outcome: 'admit' }
  | {
      readonly outcome: 'hold' | 'reject';
      readonly reasons: readonly HoldReason[];
      /** Whether a version that is already served is also held. */
      readonly takesBack?: boolean;
    };

export const ADMIT: Verdict = { outcome: 'admit' };

/** Returns the reasons without their internal members. */
export function shownReasons(reasons: readonly HoldReason[]): ShownReason[] {
  return reasons.flatMap(({ policy, message, dueAt }) =>
    policy === 'removed' ? [] : [{ policy, message, ...(dueAt === undefined ? {} : { dueAt }) }],
  );
}
