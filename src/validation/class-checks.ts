import {
  getMetadataStorage,
  ValidateBy,
  ValidateIf,
  ValidateNested,
  validateSync,
  type ValidationError,
} from 'class-validator';
import 'reflect-metadata';
import { isObject } from '../json/json-values.js';
import { below, type Issue, issue, nearest, type Path } from './problems.js';
import { type Check, foundKind } from './value-checks.js';

type Class<T extends object = object> = new () => T;
/** An object of the class whose members have not been checked yet. */
export type Unchecked<T> = { readonly [K in keyof T]?: unknown };

/** What stands below a member: a map of this class, or a list of such maps. */
interface NestedShape {
  readonly of: () => Class;
  readonly list: boolean;
}

const MAX_UNKNOWN_KEYS = 100;

const checks = new Map<string, Check>();
const rules = new WeakMap<object, ((value: object) => Issue[])[]>();
const sections = new WeakMap<object, Map<string, NestedShape>>();
/** The members of each class that was asked about. */
const names = new WeakMap<object, readonly string[]>();

/** The member must be there and pass the check; with `@Optional()` it may be absent, but not null. */
export function Checked(check: Check): PropertyDecorator {
  const name = `check${checks.size}`;
  const required: Check = (value) => (value === undefined ? issue('is required') : check(value));
  checks.set(name, required);
  return ValidateBy({ name, validator: { validate: (value) => required(value).length === 0 } });
}

/** The member may be absent. Null is not absent: in YAML it is a key without a value, filled in by nobody. */
export function Optional(): PropertyDecorator {
  return ValidateIf((_object, value) => value !== undefined);
}

/** The member is a map with the members of a class. */
export function Section(of: () => Class): PropertyDecorator {
  return nested({ of, list: false }, (value) =>
    value instanceof of() ? [] : issue(`must be a map, not ${foundKind(value)}`),
  );
}

/** The member is a list of such maps. */
export function SectionList(of: () => Class, options: { notEmpty?: boolean } = {}): PropertyDecorator {
  return nested({ of, list: true }, (value) => {
    if (!Array.isArray(value)) return issue(`must be a list, not ${foundKind(value)}`);
    if (options.notEmpty && value.length === 0) return issue('must not be an empty list');
    return value.flatMap((element: unknown, position) =>
      element instanceof of() ? [] : below([position], issue(`must be a map, not ${foundKind(element)}`)),
    );
  });
}

/** What the members of a class must be to each other. Runs always, so it must expect members of any type. */
export function Rule<T extends object>(rule: (value: Unchecked<T>) => Issue[]): (target: Class<T>) => void {
  return (target) => {
    rules.set(target, [...(rules.get(target) ?? []), rule as (value: object) => Issue[]]);
  };
}

function nested(shape: NestedShape, check: Check): PropertyDecorator {
  return (target, property) => {
    const known = sections.get(target) ?? new Map<string, NestedShape>();
    sections.set(target, known.set(String(property), shape));
    ValidateNested()(target, property);
    Checked(check)(target, property);
  };
}

/**
 * Checks a plain tree (YAML, JSON or a query, parsed) against a class: wrong types, missing and unknown keys, checks, rules. Never
 * throws.
 *
 * @param unknownKeys `refused` unless it is said otherwise.
 * @returns `value`, to be used only when there are no issues.
 */
export function checkShape<T extends object>(
  shape: Class<T>,
  tree: unknown,
  { unknownKeys = 'refused' }: { unknownKeys?: 'refused' | 'ignored' } = {},
): { value: T; issues: Issue[] } {
  const unknown: Issue[] = [];
  const value = instantiate(shape, tree, [], unknown);
  const issues = unknownKeys === 'refused' ? unknown : [];
  if (!(value instanceof shape))
    return { value: new shape(), issues: issue(`must be a map, not ${foundKind(value)}`) };
  // Objects without any metadata (an empty section, a wrong value) are fine here: unknown keys were found above.
  issues.push(
    ...validateSync(value, { forbidUnknownValues: false }).flatMap((error) => flatten(error, [], false)),
  );
  applyRules(value, [], issues);
  return { value, issues };
}

/** Does a value have the members of a class, rightly typed and checked? Others it may have too. */
export function hasShape<T extends object>(shape: Class<T>): (value: unknown) => value is T {
  return (value): value is T => checkShape(shape, value, { unknownKeys: 'ignored' }).issues.length === 0;
}

// Not class-transformer's plainToInstance: it throws on some trees (a key "constructor") and drops keys without a word
// ("toString", "__proto__").
function instantiate(shape: Class, tree: unknown, path: Path, issues: Issue[]): unknown {
  // In place of a list where a map belongs: its check fails all the same, and nobody looks at what is in it.
  if (Array.isArray(tree)) return [];
  if (!isObject(tree)) return tree;
  const keys = memberNames(shape);
  const members = Object.entries(tree).flatMap(([key, member]): [string, unknown][] => {
    if (!keys.includes(key)) {
      // Enough is enough: a body may hold any number of keys.
      if (issues.length < MAX_UNKNOWN_KEYS)
        issues.push(...below([...path, key], issue(unknownKey(key, keys))));
      return [];
    }
    const section = sectionOf(shape, key);
    return [[key, section ? instantiateBelow(section, member, [...path, key], issues) : member]];
  });
  return Object.assign(new shape(), Object.fromEntries(members));
}

function instantiateBelow({ of, list }: NestedShape, tree: unknown, path: Path, issues: Issue[]): unknown {
  if (!list) return instantiate(of(), tree, path, issues);
  if (isObject(tree)) return {};
  if (!Array.isArray(tree)) return tree;
  return tree.map((element: unknown, position) => instantiate(of(), element, [...path, position], issues));
}

function unknownKey(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  return meant === undefined ? 'is not a known key' : `is not a known key; did you mean ${meant}?`;
}

function memberNames(shape: Class): readonly string[] {
  const known = names.get(shape);
  if (known) return known;
  const metadata = getMetadataStorage().getTargetValidationMetadatas(shape, '', false, false);
  const found = [...new Set(metadata.map(({ propertyName }) => propertyName))];
  names.set(shape, found);
  return found;
}

function sectionOf(shape: Class, key: string): NestedShape | undefined {
  for (
    let of: unknown = shape.prototype;
    typeof of === 'object' && of !== null;
    of = Object.getPrototypeOf(of)
  ) {
    const section = sections.get(of)?.get(key);
    if (section) return section;
  }
  return undefined;
}

function flatten(error: ValidationError, above: Path, inList: boolean): Issue[] {
  const path = [...above, inList ? Number(error.property) : error.property];
  // class-validator repeats the constraints of a list for each of its elements; only their members are news.
  const own = inList
    ? []
    : Object.keys(error.constraints ?? {}).flatMap((name) => checks.get(name)?.(error.value) ?? []);
  const children = (error.children ?? []).flatMap((child) =>
    flatten(child, path, Array.isArray(error.value)),
  );
  return [...below(path, own), ...children];
}

function applyRules(value: unknown, path: Path, issues: Issue[]): void {
  if (Array.isArray(value))
    value.forEach((element, position) => applyRules(element, [...path, position], issues));
  if (!isObject(value)) return;
  for (
    let shape: unknown = value.constructor;
    typeof shape === 'function';
    shape = Object.getPrototypeOf(shape)
  )
    for (const rule of rules.get(shape) ?? []) issues.push(...below(path, rule(value)));
  for (const key of memberNames(value.constructor as Class)) {
    if (sectionOf(value.constructor as Class, key)) applyRules(value[key], [...path, key], issues);
  }
}
