import {
  getMetadataStorage,
  ValidateBy,
  ValidateIf,
  ValidateNested as ValidateNestedObject,
  validateSync,
  type ValidationError,
} from 'class-validator';
import 'reflect-metadata';
import { isObject, member } from '../json/json-values.js';
import { httpUrl } from './urls.js';
import {
  below,
  type Check,
  claims,
  dnsLabel,
  duration,
  flag,
  foundKind,
  type Issue,
  issue,
  nearest,
  oneOf,
  type Path,
  text,
  wholeNumber,
} from './value-checks.js';

type Class<T extends object = object> = new () => T;
/** An object of a class before its members are checked. */
export type Unchecked<T> = { readonly [K in keyof T]?: unknown };

/** The class of a member's value, or of each item in its list. */
interface NestedShape {
  readonly of: () => Class;
  readonly each: boolean;
  readonly most: number;
}

const MAX_UNKNOWN_KEYS = 100;

const checks = new Map<string, Check>();
const rules = new WeakMap<object, ((value: object) => Issue[])[]>();
const nestedShapes = new WeakMap<object, Map<string, NestedShape>>();
const claimsMembers = new WeakMap<object, readonly string[]>();
const memberNamesOf = new WeakMap<object, readonly string[]>();

/** The member is required and must pass the check; with `@IsOptional()` it may be absent. */
export function Validate(check: Check): PropertyDecorator {
  const name = `check${checks.size}`;
  const required: Check = (value) => (value === undefined ? issue('is required') : check(value));
  checks.set(name, required);
  return ValidateBy({ name, validator: { validate: (value) => required(value).length === 0 } });
}

/**
 * The member may be absent. Unlike in class-validator, null is refused, because in YAML it is a key whose value was
 * forgotten.
 */
export function IsOptional(): PropertyDecorator {
  return ValidateIf((_object, value) => value !== undefined);
}

/**
 * The member is a claims map, whose values `countClaimValues` counts.
 *
 * @param check replaces the rules for the claims of a resource.
 */
export function IsClaims(check: Check = claims): PropertyDecorator {
  return (target, property) => {
    claimsMembers.set(target, [...(claimsMembers.get(target) ?? []), String(property)]);
    Validate(check)(target, property);
  };
}

/** @param rule returns the problem with a non-empty string, or nothing. */
export const IsText = (rule?: (value: string) => string | undefined) => Validate(text(rule));
export const IsBoolean = () => Validate(flag);
export const IsInt = (min: number, max: number) => Validate(wholeNumber(min, max));
export const IsIn = (choices: readonly string[]) => Validate(oneOf(...choices));
export const IsDnsLabel = () => Validate(dnsLabel);
export const IsDuration = () => Validate(duration);
export const IsHttpUrl = (...rules: Parameters<typeof httpUrl>) => Validate(httpUrl(...rules));

/** The member is a map that the class validates; with `each`, a list of at most `most` such maps. */
export function ValidateNested(
  of: () => Class,
  {
    each = false,
    notEmpty = false,
    most = Infinity,
  }: { each?: boolean; notEmpty?: boolean; most?: number } = {},
): PropertyDecorator {
  const isMap: Check = (value) =>
    value instanceof of() ? [] : issue(`must be a map, not ${foundKind(value)}`);
  const areMaps: Check = (value) => {
    if (!Array.isArray(value)) return issue(`must be a list, not ${foundKind(value)}`);
    if (notEmpty && value.length === 0) return issue('must not be an empty list');
    if (value.length > most) return issue(`must not have more than ${most} items`);
    return value.flatMap((item: unknown, position) => below([position], isMap(item)));
  };
  return (target, property) => {
    const shapes = nestedShapes.get(target) ?? new Map<string, NestedShape>();
    nestedShapes.set(target, shapes.set(String(property), { of, each, most }));
    ValidateNestedObject()(target, property);
    Validate(each ? areMaps : isMap)(target, property);
  };
}

/** Adds a rule across members of a class. It runs even if members are invalid, so it must accept any types. */
export function ValidateClass<T extends object>(
  rule: (value: Unchecked<T>) => Issue[],
): (target: Class<T>) => void {
  return (target) => {
    rules.set(target, [...(rules.get(target) ?? []), rule as (value: object) => Issue[]]);
  };
}

/**
 * Validates a parsed tree (YAML, JSON or a query) against a class: types, missing and unknown keys, checks, rules.
 * Never throws.
 *
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
  // Classes without validators are fine: unknown keys were reported above.
  const errors = validateSync(value, { forbidUnknownValues: false });
  issues.push(...errors.flatMap((error) => flatten(error, [], false)));
  applyRules(value, [], issues);
  return { value, issues };
}

/** Returns a type guard that checks the members of a class and ignores unknown keys. */
export function hasShape<T extends object>(shape: Class<T>): (value: unknown) => value is T {
  return (value): value is T => checkShape(shape, value, { unknownKeys: 'ignored' }).issues.length === 0;
}

/** Counts the values in all claims of a tree that has not been validated. Takes time in proportion to its size. */
export function countClaimValues(shape: Class, tree: unknown): number {
  if (!isObject(tree)) return 0;
  let count = 0;
  for (const key of memberNames(shape)) {
    const value = member(tree, key);
    if (value === undefined) continue;
    const nested = nestedShapeOf(shape, key);
    if (isClaimsMember(shape, key)) count += countLeaves(value);
    else if (nested)
      for (const item of [value].flat().slice(0, nested.most + 1))
        count += countClaimValues(nested.of(), item);
  }
  return count;
}

function countLeaves(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  let count = 0;
  for (const item of Object.values(value)) count += countLeaves(item);
  return count;
}

// Not class-transformer's plainToInstance: it throws on a key "constructor", and silently drops "toString"
// and "__proto__".
function instantiate(shape: Class, tree: unknown, path: Path, issues: Issue[]): unknown {
  // A list instead of a map fails its check, whatever the items are.
  if (Array.isArray(tree)) return [];
  if (!isObject(tree)) return tree;
  const keys = memberNames(shape);
  const members = Object.entries(tree).flatMap(([key, member]): [string, unknown][] => {
    if (!keys.includes(key)) {
      // Limited, because a body may have any number of keys.
      if (issues.length < MAX_UNKNOWN_KEYS)
        issues.push(...below([...path, key], issue(unknownKey(key, keys))));
      return [];
    }
    const nested = nestedShapeOf(shape, key);
    return [[key, nested ? instantiateNested(nested, member, [...path, key], issues) : member]];
  });
  return Object.assign(new shape(), Object.fromEntries(members));
}

function instantiateNested(
  { of, each, most }: NestedShape,
  tree: unknown,
  path: Path,
  issues: Issue[],
): unknown {
  if (!each) return instantiate(of(), tree, path, issues);
  if (isObject(tree)) return {};
  if (!Array.isArray(tree)) return tree;
  // One item too many is enough to refuse the list.
  const first = tree.slice(0, most + 1);
  return first.map((element: unknown, position) => instantiate(of(), element, [...path, position], issues));
}

function unknownKey(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  return meant === undefined ? 'is not a known key' : `is not a known key; did you mean ${meant}?`;
}

function memberNames(shape: Class): readonly string[] {
  const cached = memberNamesOf.get(shape);
  if (cached) return cached;
  const metadata = getMetadataStorage().getTargetValidationMetadatas(shape, '', false, false);
  const found = [...new Set(metadata.map(({ propertyName }) => propertyName))];
  memberNamesOf.set(shape, found);
  return found;
}

function nestedShapeOf(shape: Class, key: string): NestedShape | undefined {
  return prototypesOf(shape)
    .map((prototype) => nestedShapes.get(prototype)?.get(key))
    .find((nested) => nested !== undefined);
}

function isClaimsMember(shape: Class, key: string): boolean {
  return prototypesOf(shape).some((prototype) => claimsMembers.get(prototype)?.includes(key));
}

/** Returns the prototypes of a class and its base classes. */
function prototypesOf(shape: Class): object[] {
  const found: object[] = [];
  for (
    let of: unknown = shape.prototype;
    typeof of === 'object' && of !== null;
    of = Object.getPrototypeOf(of)
  )
    found.push(of);
  return found;
}

function flatten(error: ValidationError, above: Path, inList: boolean): Issue[] {
  const path = [...above, inList ? Number(error.property) : error.property];
  // class-validator repeats the constraints of a list for each item; only errors in the item's members are new.
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
    if (nestedShapeOf(value.constructor as Class, key)) applyRules(value[key], [...path, key], issues);
  }
}
