import type { Claims } from '../../claims/claims.js';
import type { Pointer } from '../../json/json-values.js';

/** One claim of the callers of a provider (contract §2, §5). */
export type ClaimRule =
  | {
      readonly to: string;
      /** Where its value is in the token. */
      readonly from: Pointer;
      /** What becomes of each value; one that is not listed is dropped. Null: they stay as they are. */
      readonly values: ReadonlyMap<string, string> | null;
    }
  | {
      readonly to: string;
      readonly value: string;
      /** What the token must cover to be given the value; null: nothing. */
      readonly when: Claims | null;
    };

/** Of the provider's userinfo endpoint, or at a URL. */
export type GroupsLocation = { readonly from: 'userinfo' } | { readonly url: string };
