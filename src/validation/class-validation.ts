import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, registerDecorator, validateSync, type ValidationError } from 'class-validator';
import 'reflect-metadata';
import { isObject } from '../json/json-values.js';
import { below, type Check, foundKind, type Issue, issue, nearest, type Path } from './value-checks.js';

export type Class<T extends object = object> = new () => T;
/** An object of a class whose members have not been checked yet. */
export type Unchecked<T> = { readonly [K in keyof T]?: unknown };

/** A decorator of a member, as class-validator stores it. */
type Decorator = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

interface Member {
  /** The decorators from last to first, the order in which TypeScript applies them. */
  readonly decorators: readonly Decorator[];
  /** The class that `@Type` gives to the value of `@ValidateNested`. */
  readonly nested: Class | undefined;
}

/**
 * Prefix of undeclared keys: class-validator's whitelist treats `constructor` and `__proto__` as declared.
 */
const UNKNOWN = '?';
/** Prefix of the names under which class-validator stores the rules of a class. */
const RULE = '\0';
/** Limits the issues for unknown keys, of which a body may have any number. */
const MAX_UNKNOWN_KEYS = 100;

let ruleCount = 0;

/** Adds a rule across members of a class. It runs even if members are invalid, so it must accept any types. */
export function ValidateClass<T extends object>(
  rule: (value: Unchecked<T>) => Issue[],
): (target: Class<T>) => void {
  const check = rule as (value: object) => Issue[];
  return (target) =>
    registerDecorator({
      name: 'rule',
      target,
      propertyName: `${RULE}${ruleCount++}`,
      options: { context: { check } },
      validator: {
        validate: (_, args) => check(args?.object ?? {}).length === 0,
        // class-validator omits the context of a rule without a message.
        defaultMessage: () => 'breaks a rule',
      },
    });
}

/**
 * Validates a parsed tree (YAML, JSON or a cursor) against a class: types, missing and unknown keys, decorators, rules.
 * Never throws.
 *
 * @returns `value`, to be used only when there are no issues.
 */
export function checkShape<T extends object>(
  shape: Class<T>,
  tree: unknown,
  { unknownKeys = 'refused' }: { unknownKeys?: 'refused' | 'ignored' } = {},
): { value: T; issues: Issue[] } {
  if (!isObject(tree)) return { value: new shape(), issues: issue(`must be a map, not ${foundKind(tree)}`) };
  const value = toInstance(shape, tree);
  const errors = validateSync(value, {
    whitelist: true,
    forbidNonWhitelisted: unknownKeys === 'refused',
    forbidUnknownValues: false,
  });
  return { value, issues: issuesOf(errors) };
}

/** Returns a type guard that checks the members of a class and ignores unknown keys. */
export function hasShape<T extends object>(shape: Class<T>): (value: unknown) => value is T {
  return (value): value is T => checkShape(shape, value, { unknownKeys: 'ignored' }).issues.length === 0;
}

/**
 * Creates an instance, with instances as its nested members, from any JSON. Keeps all other values as they
 * are, whereas class-transformer's `plainToInstance` throws on the key `constructor`, drops `__proto__` and
 * copies whole documents. Replaces values that class-validator would wrongly accept with a symbol, which
 * every decorator refuses: null for `@IsOptional`, and a list in place of a map for `@ValidateNested`.
 */
export function toInstance<T extends object>(shape: Class<T>, tree: Readonly<Record<string, unknown>>): T {
  const members = membersOf(shape);
  const instance = new shape();
  const values = instance as Record<string, unknown>;
  let unknownKeys = 0;
  for (const [key, value] of Object.entries(tree)) {
    const member = members.get(key);
    if (member) values[key] = memberValue(member, value);
    else if (unknownKeys++ < MAX_UNKNOWN_KEYS) values[`${UNKNOWN}${key}`] = value;
  }
  return instance;
}

function memberValue({ decorators, nested }: Member, value: unknown): unknown {
  if (value === null)
    return decorators.every(({ type }) => type === 'whitelistValidation') ? null : refused(value);
  const isList = decorators.some(({ type, each }) => type === 'nestedValidation' && each);
  if (nested && !isList) return instanceOf(nested, value);
  if (!Array.isArray(value)) return nested ? refused(value) : value;
  // One item above the maximum is enough to refuse the list.
  const most = argumentOf(decorators, 'arrayMaxSize') as number | undefined;
  const items: unknown[] = most === undefined ? value : value.slice(0, most + 1);
  return nested ? items.map((item) => instanceOf(nested, item)) : items;
}

function instanceOf(shape: Class, value: unknown): unknown {
  return isObject(value) ? toInstance(shape, value) : refused(value);
}

function refused(value: unknown): symbol {
  return Symbol(foundKind(value));
}

const membersOfClass = new WeakMap<Class, ReadonlyMap<string, Member>>();

/** @throws Error for a class whose decorators would accept any value, or refuse values without a message. */
function membersOf(shape: Class): ReadonlyMap<string, Member> {
  const cached = membersOfClass.get(shape);
  if (cached) return cached;
  const all = getMetadataStorage().getTargetValidationMetadatas(shape, '', false, false);
  const names = new Set(all.map(({ propertyName }) => propertyName).filter((name) => !name.startsWith(RULE)));
  const members = new Map<string, Member>();
  for (const name of names) {
    const decorators = all.filter(({ propertyName }) => propertyName === name);
    const unknown = decorators.find((one) => one.constraintCls && !isDescribed(one));
    if (unknown) throw new Error(`@${unknown.name} of ${shape.name}.${name} needs a message`);
    members.set(name, { decorators, nested: nestedOf(shape, name, decorators) });
  }
  membersOfClass.set(shape, members);
  return members;
}

function nestedOf(shape: Class, name: string, decorators: readonly Decorator[]): Class | undefined {
  if (!decorators.some(({ type }) => type === 'nestedValidation')) return undefined;
  const memberOf = (object: object) => (object as Readonly<Record<string, object | undefined>>)[name];
  if (decorators.length === 1 && memberOf(new shape()) === undefined)
    throw new Error(`${shape.name}.${name} needs @IsDefined or @IsOptional`);
  const found = memberOf(plainToInstance(shape, { [name]: {} }))?.constructor;
  if (found === undefined || found === Object) throw new Error(`${shape.name}.${name} needs @Type`);
  return found as Class;
}

/** Returns the first argument of a member's decorator. */
function argumentOf(decorators: readonly Decorator[], name: string): unknown {
  return decorators.find((each) => each.name === name)?.constraints?.[0];
}

/** A member that is a single value. */
interface Scalar {
  readonly path: readonly string[];
  readonly kind: 'text' | 'number' | 'flag';
}

/** Returns the members of a class and its nested classes that are single values, not lists. */
export function scalarsOf(shape: Class, above: readonly string[] = []): Scalar[] {
  return [...membersOf(shape)].flatMap(([key, { decorators, nested }]): Scalar[] => {
    const path = [...above, key];
    const has = (...names: string[]) => decorators.some(({ name }) => names.includes(name ?? ''));
    if (has('isArray')) return [];
    if (nested) return scalarsOf(nested, path);
    return [{ path, kind: has('isInt', 'isNumber') ? 'number' : has('isBoolean') ? 'flag' : 'text' }];
  });
}

/** Returns the members of an instance, and of its nested instances, that have one of these decorators and a value. */
export function membersWith(
  names: readonly string[],
  instance: unknown,
  above: Path = [],
): { path: Path; value: unknown }[] {
  if (Array.isArray(instance))
    return instance.flatMap((item, position) => membersWith(names, item, [...above, position]));
  if (!isObject(instance)) return [];
  return [...membersOf(instance.constructor as Class)].flatMap(([key, { decorators, nested }]) => {
    const [path, value] = [[...above, key], instance[key]];
    if (nested) return membersWith(names, value, path);
    const has = value !== undefined && decorators.some(({ name }) => names.includes(name ?? ''));
    return has ? [{ path, value }] : [];
  });
}

/** Counts the values in all claims of an instance that has not been validated. Takes time in proportion to its size. */
export function countClaimValues(instance: object): number {
  const claims = membersWith(['isClaims', 'isTokenClaims'], instance);
  return claims.reduce((sum, { value }) => sum + countLeaves(value), 0);
}

function countLeaves(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  let count = 0;
  for (const item of Object.values(value)) count += countLeaves(item);
  return count;
}

/** Converts class-validator's errors (with `target` and `value`) to one issue per member or list item. */
export function issuesOf(errors: readonly ValidationError[], above: Path = []): Issue[] {
  return errors.flatMap((error): Issue[] => {
    const { target = {}, property, value, constraints, children = [] } = error;
    if (property.startsWith(RULE))
      return below(above, (error.contexts?.['rule'] as Context | undefined)?.check(target) ?? []);
    const isItem = Array.isArray(target);
    const members = isItem ? undefined : membersOf(target.constructor as Class);
    if (members && property.startsWith(UNKNOWN)) {
      const key = property.slice(UNKNOWN.length);
      return below([...above, key], issue(unknownKey(key, [...members.keys()])));
    }
    const path = [...above, isItem ? Number(property) : property];
    const own = members
      ? memberIssues(error, members.get(property)?.decorators ?? [])
      : constraints
        ? issue(notMap(value))
        : [];
    return [...below(path, own), ...issuesOf(children, path)];
  });
}

function unknownKey(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  return meant === undefined ? 'is not a known key' : `is not a known key; did you mean ${meant}?`;
}

/** Describes the first decorator that failed. */
function memberIssues({ value, constraints }: ValidationError, decorators: readonly Decorator[]): Issue[] {
  const failed = decorators.findLast(
    (one) =>
      constraints?.[one.name ?? one.type] !== undefined &&
      (one.each || !one.constraintCls || !accepts(one, value)),
  );
  if (!failed) return [];
  if (value === undefined) return issue('is required');
  if (failed.type === 'nestedValidation') return issue(notMap(value));
  if (!failed.each || !Array.isArray(value)) return describe(failed, value, decorators);
  return value.flatMap((item: unknown, position) => {
    const wrong = decorators.findLast((one) => one.each && one.constraintCls && !accepts(one, item));
    return wrong ? below([position], describe(wrong, item, decorators)) : [];
  });
}

function accepts({ constraintCls, constraints, propertyName: property }: Decorator, value: unknown): boolean {
  const args = { value, constraints, property, targetName: '', object: {} };
  const validators = getMetadataStorage().getTargetValidatorConstraints(constraintCls);
  return validators.every(({ instance }) => instance.validate(value, args) === true);
}

/** The context of a decorator that `decoratorOf` created. */
interface Context {
  readonly check: Check;
}

function describe(decorator: Decorator, value: unknown, decorators: readonly Decorator[]): Issue[] {
  const { name = '', message, context } = decorator;
  const own = context as Context | undefined;
  if (own) return own.check(value);
  if (typeof message === 'string') return issue(message);
  if (name === 'arrayUnique' && Array.isArray(value)) {
    const position = value.findIndex((item, index) => value.indexOf(item) < index);
    return below([position], issue(`${JSON.stringify(value[position])} is already in the list`));
  }
  return issue(SENTENCES.get(name)?.(value, (of) => argumentOf(decorators, of)) ?? 'is not valid');
}

function isDescribed({ name = '', message, context }: Decorator): boolean {
  return context !== undefined || typeof message === 'string' || SENTENCES.has(name);
}

type Sentence = (value: unknown, argument: (decorator: string) => unknown) => string;

const notNumber: Sentence = (_, argument) => {
  const what = argument('isNumber') === undefined ? 'whole number' : 'number';
  return `must be a ${what} from ${String(argument('min'))} to ${String(argument('max'))}`;
};

const notMap = (value: unknown) => `must be a map, not ${foundKind(value)}`;

/** The messages for class-validator's own decorators. */
const SENTENCES: ReadonlyMap<string, Sentence> = new Map<string, Sentence>([
  ['isDefined', () => 'is required'],
  ['isString', (value) => `must be a string, not ${foundKind(value)}`],
  ['isBoolean', (value) => `must be true or false, not ${foundKind(value)}`],
  ['isArray', (value) => `must be a list, not ${foundKind(value)}`],
  ['isInt', notNumber],
  ['isNumber', notNumber],
  ['min', notNumber],
  ['max', notNumber],
  ['isIn', (_, argument) => `must be one of ${(argument('isIn') as readonly string[]).join(', ')}`],
  ['arrayUnique', () => 'must have different items'],
  ['arrayNotEmpty', () => 'must not be an empty list'],
  ['arrayMaxSize', (_, argument) => `must not have more than ${String(argument('arrayMaxSize'))} items`],
  ['maxLength', (_, argument) => `must have at most ${String(argument('maxLength'))} characters`],
]);
