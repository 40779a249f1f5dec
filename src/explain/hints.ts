import { claimHints } from '../auth/claim-mapping.js';
import { claimText } from '../claims/claims.js';
import { isObject } from '../json/json-values.js';
import type { ExplainedMissing, Step } from './steps.js';

const MAX_DEPTH = 4;

/** Claims that are held, to find what only looks like what is asked for: each of many questions takes as long as for few claims. */
export class Spellings {
  private readonly keys: ReadonlyMap<string, readonly string[]>;
  /** By key. */
  private readonly values = new Map<string, ReadonlyMap<string, readonly string[]>>();
  private paths: ReadonlyMap<string, readonly string[]> | undefined;

  constructor(private readonly held: Readonly<Record<string, unknown>>) {
    this.keys = byLetters(Object.keys(held));
  }

  /** Another key of the same letters. */
  keyLike(key: string): string | undefined {
    return this.keys.get(lettersOf(key))?.find((other) => other !== key);
  }

  /** Another text of the same letters among the values of a key. */
  valueLike(key: string, value: string): string | undefined {
    if (!Object.hasOwn(this.held, key)) return undefined;
    const known = this.values.get(key) ?? byLetters([this.held[key]].flat());
    this.values.set(key, known);
    return known.get(lettersOf(value))?.find((other) => other !== value);
  }

  /** Where below the top level a key is held that is not there at the top. */
  pathTo(key: string): readonly string[] | undefined {
    if (Object.hasOwn(this.held, key)) return undefined;
    this.paths ??= pathsBelow(this.held);
    return this.paths.get(key);
  }
}

function byLetters(values: readonly unknown[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const value of new Set(values)) {
    if (typeof value !== 'string') continue;
    const letters = lettersOf(value);
    const alike = found.get(letters);
    if (alike) alike.push(value);
    else found.set(letters, [value]);
  }
  return found;
}

function lettersOf(text: string): string {
  return text.trim().toLowerCase();
}

/** The first place of each key below the top level, where an object is looked at before what is in it. */
function pathsBelow(held: Readonly<Record<string, unknown>>): Map<string, readonly string[]> {
  const paths = new Map<string, readonly string[]>();
  const visit = (value: Readonly<Record<string, unknown>>, path: readonly string[]) => {
    if (path.length === MAX_DEPTH) return;
    for (const [name, member] of Object.entries(value)) {
      if (!isObject(member)) continue;
      const here = [...path, name];
      for (const key of Object.keys(member)) if (!paths.has(key)) paths.set(key, [...here, key]);
      visit(member, here);
    }
  };
  visit(held, []);
  return paths;
}

const MAX_HINTS = 20;
/** Missing values that hints are looked for: what comes behind them is much the same. */
const MAX_LOOKED_AT = 200;
const MAX_PATH = 500;

/** Providers whose claims are mapped: nothing else of their tokens counts (contract §5). */
export interface MappedProvider {
  readonly name: string;
  readonly issuerUrl: string;
  readonly claims?: readonly { readonly to: string }[];
}

/** Claims that are missing, and that no provider of the token's issuer ever gives: a token of another one is needed. */
export function providerHints(
  { iss }: Readonly<Record<string, unknown>>,
  steps: readonly Step[],
  providers: readonly MappedProvider[],
): string[] {
  const own = providers.filter(({ issuerUrl }) => issuerUrl === iss);
  if (own.length === 0 || own.some(({ claims }) => claims === undefined)) return [];
  const given = new Set(own.flatMap(({ claims }) => (claims ?? []).map(({ to }) => to)));
  const keys = new Set(steps.flatMap(({ missing }) => (missing ?? []).map(({ key }) => key)));
  const names = own.map(({ name }) => name).join(', ');
  return [...keys]
    .filter((key) => !given.has(key) && key !== 'iss' && key !== 'sub')
    .map((key) => `No token of provider ${names} gives ${quoted(key)}: its \`claims\` do not name it`);
}

/**
 * contract §10: what is known to go wrong with tokens, of claims that are held. The hints depend on these and on the steps that are
 * told, and so give away nothing beside them.
 */
export function hintsFor(held: Readonly<Record<string, unknown>>, steps: readonly Step[]): string[] {
  const missing = distinct(steps.flatMap((step) => step.missing ?? [])).slice(0, MAX_LOOKED_AT);
  const spellings = new Spellings(held);
  const hints = [
    ...claimHints(held),
    ...Object.keys(held).flatMap((key) => (isTooLarge(held[key]) ? [tooLarge(key)] : [])),
    ...scopeHint(held),
    ...missing.flatMap(({ key, needs }) => [
      ...spelledElse(spellings, key, needs),
      ...nested(spellings, key),
    ]),
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

function spelledElse(held: Spellings, key: string, needs: string): string[] {
  const alike = held.keyLike(key);
  const value = held.valueLike(key, needs);
  return [
    ...(alike === undefined
      ? []
      : [`${quoted(key)} is asked for, and the caller holds ${quoted(alike)}: case counts`]),
    ...(value === undefined
      ? []
      : [
          `${quoted(key)} is to be ${quoted(needs)}, and the caller holds ${quoted(value)}: case and spaces count`,
        ]),
  ];
}

function nested(held: Spellings, key: string): string[] {
  const path = held.pathTo(key);
  return path === undefined
    ? []
    : [
        `${quoted(key)} is asked for at the top level, and the caller holds it at ${path.join('.').slice(0, MAX_PATH)}`,
      ];
}

function distinct(missing: readonly ExplainedMissing[]): ExplainedMissing[] {
  return [...new Map(missing.map((one) => [JSON.stringify([one.key, one.needs]), one])).values()];
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
