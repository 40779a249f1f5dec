import { claimHints } from '../../auth/claim-hints.js';
import { claimText } from '../../claims/claims.js';
import { isObject } from '../../json/is-object.js';
import type { Step } from '../steps.js';

const MAX_HINTS = 20;
const MAX_DEPTH = 4;

/**
 * contract §10: what is known to go wrong with tokens, of claims that are held. The hints depend on these and on the steps that are
 * told, and so give away nothing beside them.
 */
export function hintsFor(held: Readonly<Record<string, unknown>>, steps: readonly Step[]): string[] {
  const missing = steps.flatMap((step) => step.missing ?? []);
  const hints = [
    ...claimHints(held),
    ...Object.keys(held).flatMap((key) => (isTooLarge(held[key]) ? [tooLarge(key)] : [])),
    ...scopeHint(held),
    ...missing.flatMap(({ key, needs }) => [...spelledElse(held, key, needs), ...nested(held, key)]),
    ...steps.flatMap(ofStep),
  ];
  return [...new Set(hints)].slice(0, MAX_HINTS);
}

function ofStep({ step, outcome, because, source, shadowedBy }: Step): string[] {
  if (step === 'entry' && because === 'unlabeled')
    return [`The entry of source ${source} carries no claims: only super-admins see it`];
  if (step === 'gate' && because === 'unlabeled: deny')
    return ['The registry has no claims, and with `unlabeled: deny` only super-admins may enter it'];
  if (step === 'shadowing' && outcome === 'refused')
    return [`The entry of source ${source} is shadowed: source ${shadowedBy} comes first`];
  if (step === 'version' && because === 'status: deleted')
    return ['The version has the status `deleted`: it is shown with `include_deleted=true` alone'];
  return [];
}

// contract §5: numbers beyond 2^53 have lost their digits.
function isTooLarge(value: unknown): boolean {
  return [value].flat().some((one) => typeof one === 'number' && claimText(one) === undefined);
}

function tooLarge(key: string): string {
  return `The claim ${quoted(key)} holds a number that is too large to be compared: let the provider write it as text`;
}

// RFC 8693 §4.2: scopes are one text, separated by spaces.
function scopeHint({ scope }: Readonly<Record<string, unknown>>): string[] {
  return typeof scope === 'string' && scope.includes(' ')
    ? ['The claim "scope" is one text, and compared as a whole: it does not hold each of the scopes in it']
    : [];
}

function spelledElse(held: Readonly<Record<string, unknown>>, key: string, needs: string): string[] {
  const alike = Object.keys(held).find((other) => other !== key && sameLetters(other, key));
  const values = Object.hasOwn(held, key) ? [held[key]].flat() : [];
  const value = values.find(
    (other) => typeof other === 'string' && other !== needs && sameLetters(other, needs),
  );
  return [
    ...(alike === undefined
      ? []
      : [`${quoted(key)} is asked for, and the caller holds ${quoted(alike)}: case counts`]),
    ...(value === undefined
      ? []
      : [
          `${quoted(key)} is to be ${quoted(needs)}, and the caller holds ${quoted(String(value))}: case and spaces count`,
        ]),
  ];
}

function sameLetters(one: string, other: string): boolean {
  return one.trim().toLowerCase() === other.trim().toLowerCase();
}

function nested(held: Readonly<Record<string, unknown>>, key: string): string[] {
  if (Object.hasOwn(held, key)) return [];
  const path = findBelow(held, key, MAX_DEPTH);
  return path === undefined
    ? []
    : [`${quoted(key)} is asked for at the top level, and the caller holds it at ${path.join('.')}`];
}

function findBelow(
  value: Readonly<Record<string, unknown>>,
  key: string,
  depth: number,
): string[] | undefined {
  if (depth === 0) return undefined;
  for (const [name, member] of Object.entries(value)) {
    if (!isObject(member)) continue;
    if (Object.hasOwn(member, key)) return [name, key];
    const below = findBelow(member, key, depth - 1);
    if (below) return [name, ...below];
  }
  return undefined;
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
