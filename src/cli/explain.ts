import type { Judgement } from '../authz/access-policy.js';
import { hintsFor } from '../explain/hints.js';
import { assumedCaller } from '../explain/question.js';
import {
  ABSENT_ENTRY,
  type Answer,
  decisionOf,
  entrySteps,
  judgedStep,
  judgeSources,
  SHOWN,
  type Step,
} from '../explain/steps.js';
import { sentenceOf } from '../explain/who.service.js';
import { isObject } from '../json/json-values.js';
import { configuration } from './check.js';
import { OfflineAccess, readCatalogue, readEntry } from './offline-access.js';

const BAD_USAGE = 2;

export interface ExplainOptions {
  readonly config: string;
  readonly claims: string;
  readonly registry: string;
  readonly entry?: string;
  readonly type?: string;
}

/**
 * contract §10: explains a decision. Returns exit code 0 for shown, 1 for refused, hidden or absent, and 2 for invalid
 * usage.
 */
export async function explain({
  config: file,
  claims: text,
  registry,
  entry,
  type,
}: ExplainOptions): Promise<number> {
  const claims = readClaims(text);
  if (!claims) {
    process.stderr.write('explain: --claims must be a JSON object, such as {"org":"acme"}\n');
    return BAD_USAGE;
  }
  const loaded = configuration(file, {});
  if (!loaded) return BAD_USAGE;
  const catalogue = await readCatalogue(loaded.config);
  const access = new OfflineAccess(loaded.config, catalogue);
  const { answer, steps } = explained(access, claims, {
    registry,
    ...(entry === undefined ? {} : { entry }),
    ...(type ? { type } : {}),
  });
  const lines = [
    `${decisionOf(answer, steps)} (${answer.status}${answer.code ? ` ${answer.code}` : ''}), ${catalogue.origin}`,
    ...steps.map(stepLine),
    ...hintsFor(claims, steps).map((hint) => `hint: ${hint}`),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  return answer.status < 300 ? 0 : 1;
}

function explained(
  access: OfflineAccess,
  claims: Readonly<Record<string, unknown>>,
  { registry: name, entry, type }: { registry: string; entry?: string; type?: string },
): { answer: Answer; steps: Step[] } {
  const registry = access.registry(name);
  if (!registry) {
    const code = 'registry_not_found';
    return { answer: { status: 404, code }, steps: [{ step: 'registry', outcome: 'absent', code }] };
  }
  const caller = assumedCaller(claims);
  const { policy } = access;
  let gate: Judgement | undefined;
  const mayEnter = policy.mayReach(caller, registry.claims, (recorded) => (gate = recorded));
  const steps: Step[] = [{ step: 'registry', outcome: 'passed' }];
  if (gate) steps.push(judgedStep('gate', gate, claims, mayEnter ? {} : { code: 'registry_forbidden' }));
  let answer: Answer = mayEnter ? SHOWN : { status: 403, code: 'registry_forbidden' };
  if (entry !== undefined) {
    const [sources = []] = access.candidates(name, entry, type);
    const judged = judgeSources(policy, caller, sources);
    const read = readEntry(judged);
    const ofEntry = entrySteps(judged, claims, read);
    steps.push(...ofEntry, ...(ofEntry.some(({ step }) => step === 'entry') ? [] : [ABSENT_ENTRY]));
    if (mayEnter) answer = read.answer;
  }
  return { answer, steps };
}

function stepLine({ step, outcome, source, required, missing = [], because, shadowedBy }: Step): string {
  const arrays = because === undefined && missing.some(({ anyOf }) => anyOf) ? 'any' : 'all';
  const details = [
    source === undefined ? '' : `source ${source}`,
    required && Object.keys(required).length > 0 ? `requires ${sentenceOf([{ required, arrays }])}` : '',
    missing.length > 0 ? `missing: ${missing.map(({ key, needs }) => `${key}=${needs}`).join(', ')}` : '',
    because ?? '',
    shadowedBy === undefined ? '' : `shadowed by source ${shadowedBy}`,
  ];
  return `  ${step.padEnd(10)}${outcome.padEnd(9)}${details.filter((part) => part !== '').join('; ')}`.trimEnd();
}

function readClaims(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
