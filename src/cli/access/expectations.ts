import { readFileSync } from 'node:fs';
import { ROLES } from '../../auth/caller.js';
import { parseYamlValue } from '../../config/yaml.js';
import { isObject } from '../../json/json-values.js';
import { Checked, checkShape, Optional, Section } from '../../validation/class-checks.js';
import { below, formatPath, type Issue, issue } from '../../validation/problems.js';
import { type Check, flag, foundKind, listOf, oneOf, text } from '../../validation/value-checks.js';
import type { OfflineAccess } from './offline-access.js';

const heldClaims: Check = (value) =>
  isObject(value) ? [] : issue(`must be a map of claims, not ${foundKind(value)}`);

export class ExpectedCaller {
  @Checked(heldClaims) readonly claims: Readonly<Record<string, unknown>>;
}

/** What is expected of one caller (contract §10). */
export class Expectation {
  @Optional() @Checked(text()) readonly name?: string;
  @Section(() => ExpectedCaller) readonly caller: ExpectedCaller;
  @Checked(text()) readonly registry: string;
  @Optional() @Checked(flag) readonly enters?: boolean;
  /** Names of entries they see. */
  @Optional() @Checked(listOf(text())) readonly sees?: readonly string[];
  /** Names of entries they do not see. */
  @Optional() @Checked(listOf(text())) readonly not?: readonly string[];
  /** All of their roles. */
  @Optional() @Checked(listOf(oneOf(...ROLES), { unique: true })) readonly roles?: readonly string[];
}

/** Whether what was expected holds: without failures it does. */
export interface Verdict {
  readonly name: string;
  readonly registry: string;
  readonly failures: readonly string[];
}

/**
 * Reads a list of expectations.
 *
 * @returns them, or everything that is wrong with the file, a sentence each.
 */
export function readExpectations(file: string): {
  expectations: readonly Expectation[];
  problems: readonly string[];
} {
  let tree: unknown;
  try {
    ({ tree } = parseYamlValue(readFileSync(file, 'utf8'), file));
  } catch (error) {
    return { expectations: [], problems: [error instanceof Error ? error.message : 'it could not be read'] };
  }
  if (!Array.isArray(tree))
    return { expectations: [], problems: [`must be a list of expectations, not ${foundKind(tree)}`] };
  const checked = tree.map((element: unknown) => checkShape(Expectation, element));
  const issues: Issue[] = checked.flatMap((each, position) => below([position], each.issues));
  return {
    expectations: checked.map(({ value }) => value),
    problems: issues.map(({ path, message }) => `${formatPath(path)}: ${message}`),
  };
}

/** contract §10: what is not as it is expected, by the policy of the configuration. */
export function judge(access: OfflineAccess, expected: Expectation): Verdict {
  const { caller, registry, enters, sees = [], not = [], roles } = expected;
  const { claims } = caller;
  const name = expected.name ?? `${JSON.stringify(claims)}`;
  if (!access.registry(registry)) return { name, registry, failures: [`there is no registry ${registry}`] };
  const mayEnter = access.enters(claims, registry);
  const failures: string[] = [];
  if (enters !== undefined && enters !== mayEnter)
    failures.push(mayEnter ? 'may enter, and should not' : 'may not enter, and should');
  const isSeen = (entry: string) => mayEnter && access.sees(claims, registry, entry);
  for (const entry of sees) if (!isSeen(entry)) failures.push(`does not see ${entry}`);
  for (const entry of not) if (isSeen(entry)) failures.push(`sees ${entry}`);
  const held = access.rolesOf(claims);
  if (roles && (roles.length !== held.length || roles.some((role) => !held.some((one) => one === role))))
    failures.push(`has the roles ${held.join(', ') || 'none'}, and not ${roles.join(', ') || 'none'}`);
  return { name, registry, failures };
}
