import type { AdmissionConfig } from '../config/config.js';
import { type Contents, mayContain } from '../members/members.js';
import { matchesGlob } from '../sources/entry-filter.js';
import { parseDuration } from '../validation/value-checks.js';
import { isInRange } from './block-rule.js';
import { ADMIT, CONTENT_MISSING, type HoldReason, type Verdict } from './hold-reason.js';

/** A version that a source shows, if its document differs from the served one. */
export interface CuratedVersion {
  readonly name: string;
  readonly version: string;
  /** Null if the upstream states no time. */
  readonly publishedAt: Date | null;
  /** When this document was first seen here. */
  readonly firstSeenAt: Date;
  /** Whether the source showed the name at its first sync, or the name was admitted before. */
  readonly isKnownName: boolean;
  /** Whether an earlier document of this version is served. */
  readonly isServed: boolean;
  readonly contents: Contents;
}

/**
 * Decides about a version of a synced source (reference/admission): the first rule that matches its name and contents
 * decides; if none matches, `minAge`, `newNames` and `changed` decide. Names match case-insensitively.
 */
export function curate(settings: AdmissionConfig | null, version: CuratedVersion, now: Date): Verdict {
  if (!settings) return ADMIT;
  const rule = ruleOf(settings, version);
  if (rule) {
    if (rule.contains && version.contents === null) return holdFor([CONTENT_MISSING]);
    const has = rule.contains ? `, which contains ${rule.contains.join(' or ')}` : '';
    const message = rule.reason ?? `A rule of the source matches ${version.name}${has}`;
    const reasons = [{ policy: 'rule' as const, message }];
    // The content of an item is stored only as long as the item exists.
    if (rule.action === 'reject' && rule.contains) return { outcome: 'hold', reasons, takesBack: true };
    if (rule.action === 'reject') return { outcome: 'reject', reasons };
    if (rule.action === 'hold') return holdFor([{ policy: 'rule', message }]);
    if (rule.versions !== undefined && !isInRange(version.version, rule.versions)) {
      const outside = `Version ${version.version} is outside ${rule.versions}`;
      return holdFor([{ policy: 'rule', message: rule.reason ?? outside }]);
    }
    return holdFor(tooYoung(rule.minAge, version, now));
  }
  const reasons = tooYoung(settings.minAge, version, now);
  if (settings.newNames === 'hold' && !version.isKnownName)
    reasons.push({ policy: 'newNames', message: `The source has not shown ${version.name} before` });
  if (settings.changed === 'hold' && version.isServed)
    reasons.push({
      policy: 'changed',
      message: `The source changed the document of version ${version.version}, which is served`,
    });
  return holdFor(reasons);
}

/** Decides about content that is stored after its version: rules without `contains` have already decided. */
export function curateContent(
  settings: AdmissionConfig | null,
  version: Pick<CuratedVersion, 'name' | 'version' | 'contents'> & { readonly publishedAt: Date },
  now: Date,
): Verdict {
  if (!settings || !ruleOf(settings, version)?.contains) return ADMIT;
  const { publishedAt } = version;
  return curate(settings, { ...version, firstSeenAt: publishedAt, isKnownName: true, isServed: true }, now);
}

type RuledVersion = Pick<CuratedVersion, 'name' | 'contents'>;

/** Returns whether a rule also withdraws versions that are already served. */
export function takesBack(settings: AdmissionConfig | null, version: RuledVersion): boolean {
  if (settings?.rules?.some(({ action }) => action === 'reject') !== true) return false;
  const rule = ruleOf(settings, version);
  return rule?.action === 'reject' && !(rule.contains && version.contents === null);
}

/** Returns whether the rules depend on the contents of versions. */
export function readsContents(settings: AdmissionConfig | null): boolean {
  return settings?.rules?.some(({ contains }) => contains) === true;
}

/** Returns the first rule that matches, or could match once the content is stored. */
export function ruleOf({ rules }: AdmissionConfig, { name, contents }: RuledVersion): Rule | undefined {
  const lower = name.toLowerCase();
  return rules?.find(
    (rule) =>
      rule.names.some((glob) => matchesGlob(glob.toLowerCase(), lower)) &&
      mayContain(rule.contains, contents) &&
      !(rule.action === 'admit' && rule.contains && isOnlyUnreadable(rule.contains, contents)),
  );
}

// Unreadable files must not satisfy a rule that admits.
function isOnlyUnreadable(contains: readonly string[], contents: Contents): boolean {
  return contents?.has('unreadable') === true && !contains.includes('unreadable');
}

type Rule = NonNullable<AdmissionConfig['rules']>[number];

/** Adds further reasons for holding a version. */
export function withReasons(verdict: Verdict, reasons: readonly HoldReason[]): Verdict {
  if (reasons.length === 0 || verdict.outcome === 'reject') return verdict;
  const own = verdict.outcome === 'admit' ? [] : verdict.reasons;
  return { outcome: 'hold', reasons: [...own, ...reasons] };
}

function holdFor(reasons: readonly HoldReason[]): Verdict {
  return reasons.length === 0 ? ADMIT : { outcome: 'hold', reasons };
}

/** The latest date that both JavaScript and PostgreSQL write as RFC 3339 with a four-digit year. */
const LATEST_MS = Date.UTC(9999, 11, 31);

function tooYoung(minAge: string | undefined, version: CuratedVersion, now: Date): HoldReason[] {
  const age = minAge === undefined ? 0 : (parseDuration(minAge, 0) ?? 0);
  const { firstSeenAt, publishedAt } = version;
  const since = Math.max(firstSeenAt.getTime(), publishedAt?.getTime() ?? 0);
  const due = Math.min(since + age, LATEST_MS);
  if (age === 0 || due <= now.getTime()) return [];
  const message = `Versions of this source wait for ${minAge} after they were published and first seen`;
  return [{ policy: 'minAge', message, dueAt: new Date(due).toISOString() }];
}

/** Returns when all reasons have expired; null if one needs a decision. */
export function dueAtOf(reasons: readonly HoldReason[]): Date | null {
  const times = reasons.map(({ dueAt }) => dueAt);
  if (times.length === 0 || times.includes(undefined)) return null;
  return new Date(Math.max(...times.map((time) => Date.parse(time ?? ''))));
}
