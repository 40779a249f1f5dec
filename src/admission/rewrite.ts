import { elements, isObject } from '../json/json-values.js';

/** The member of `_meta` that holds the packages as the upstream sent them. */
export const REWRITTEN = 'registry-server/rewritten';

/** Redirects package installations to another registry: an item of `admission.rewrite` (reference/admission). */
export interface RewriteRule {
  readonly registryType: string;
  /** The base URL to set, even if the upstream has none. */
  readonly registryBaseUrl?: string;
  /** A prefix of the identifier and its replacement, for `oci` packages. */
  readonly from?: string;
  readonly to?: string;
}

/**
 * Returns the document with rewritten packages, and the original ones in `_meta`; null if no rule applies. An existing
 * value of that member is dropped: only this server sets it.
 */
export function rewriteDocument(rules: readonly RewriteRule[], text: string | Buffer): Buffer | null {
  if (rules.length === 0) return null;
  const document = JSON.parse(text.toString()) as unknown;
  if (!isObject(document)) return null;
  const packages = elements(document['packages']);
  const rewritten = packages.map((given) => rewritePackage(rules, given));
  if (rewritten.every((one, index) => one === packages[index])) return null;
  const meta = isObject(document['_meta']) ? document['_meta'] : {};
  return Buffer.from(
    JSON.stringify({ ...document, packages: rewritten, _meta: { ...meta, [REWRITTEN]: packages } }),
  );
}

// The first matching rule applies.
function rewritePackage(rules: readonly RewriteRule[], given: unknown): unknown {
  if (!isObject(given)) return given;
  const { registryType, identifier } = given;
  for (const rule of rules) {
    if (rule.registryType !== registryType) continue;
    if (rule.registryBaseUrl !== undefined)
      return given['registryBaseUrl'] === rule.registryBaseUrl
        ? given
        : { ...given, registryBaseUrl: rule.registryBaseUrl };
    const { from, to } = rule;
    if (
      from !== undefined &&
      to !== undefined &&
      typeof identifier === 'string' &&
      identifier.startsWith(from)
    )
      return { ...given, identifier: `${to}${identifier.slice(from.length)}` };
  }
  return given;
}
