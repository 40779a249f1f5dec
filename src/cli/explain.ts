import type { Caller } from '../auth/caller.js';
import type { Judgement } from '../authz/access-policy.js';
import { oauthInUse } from '../config/config.js';
import { type IdentifiedCaller, NoSuchCaller } from '../explain/assumed-caller.js';
import { hintsFor, providerHints, unmappedHints } from '../explain/hints.js';
import {
  ABSENT_ENTRY,
  type StatusAnswer,
  decisionOf,
  entrySteps,
  firstRefusal,
  judgedStep,
  judgeSources,
  SHOWN,
  type Step,
} from '../explain/steps.js';
import { sentenceOf } from '../explain/requirements.js';
import { isObject } from '../json/json-values.js';
import { configuration } from './check.js';
import { OfflineAccess, readKnownSources, readEntry } from './offline-access.js';
import { identifyOffline, type OfflineCallerForm, UnknownToken } from './offline-caller.js';

const BAD_USAGE = 2;

export interface ExplainOptions {
  readonly config: string;
  readonly registry: string;
  readonly entry?: string;
  readonly type?: string;
  readonly claims?: string;
  readonly tokenFile?: string;
  readonly provider?: string;
  readonly tokenClaims?: string;
  readonly anonymous?: boolean;
  readonly key?: string;
}

/**
 * reference/explain: explains a decision. Returns the exit code: 0 if the outcome is `shown`, 1 if it is `refused`,
 * `hidden` or `absent`, 2 for invalid usage.
 */
export async function explain(options: ExplainOptions): Promise<number> {
  const form = callerIn(options);
  if (typeof form === 'string') return badUsage(form);
  const loaded = configuration(options.config, {});
  if (!loaded) return BAD_USAGE;
  const known = await readKnownSources(loaded.config);
  const access = new OfflineAccess(loaded.config, known);
  let found: IdentifiedCaller;
  try {
    found = await identifyOffline(access, form, options.registry);
  } catch (error) {
    if (error instanceof UnknownToken) return badUsage(error.message);
    if (error instanceof NoSuchCaller) return badUsage(`--${error.path.at(-1)} ${error.message}`);
    throw error;
  }
  const { caller, step: token, token: raw } = found;
  const held = caller?.claims ?? raw?.claims ?? {};
  const inside = caller ? explained(access, caller, options) : { answer: SHOWN, steps: [] };
  const answer = firstRefusal([token]) ?? inside.answer;
  const steps = [token, ...inside.steps];
  const providers = oauthInUse(loaded.config.auth)?.providers ?? [];
  const hints = [
    ...hintsFor(held, steps),
    ...providerHints(held, steps, providers),
    ...unmappedHints(held, raw, providers),
  ];
  const lines = [
    `${decisionOf(answer, steps)} (${answer.status}${answer.code ? ` ${answer.code}` : ''}), ${known.origin}`,
    ...steps.map(stepLine),
    ...hints.map((hint) => `hint: ${hint}`),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  return answer.status < 300 ? 0 : 1;
}

function badUsage(problem: string): number {
  process.stderr.write(`explain: ${problem}\n`);
  return BAD_USAGE;
}

/** Returns the caller that the options name, or the problem with them. */
function callerIn(options: ExplainOptions): OfflineCallerForm | string {
  const { claims, tokenFile, provider, tokenClaims, anonymous, key } = options;
  const given = [claims, tokenFile, provider ?? tokenClaims, anonymous, key].filter(
    (one) => one !== undefined,
  );
  if (given.length !== 1)
    return 'pass exactly one of --claims, --token-file, --provider with --token-claims, --anonymous and --key';
  if (tokenFile !== undefined) return { tokenFile };
  if (anonymous) return { anonymous };
  if (key !== undefined) return { key };
  if (claims === undefined && (provider === undefined || tokenClaims === undefined))
    return 'pass --provider and --token-claims together';
  const held = readClaims(claims ?? tokenClaims ?? '');
  if (!held)
    return `${claims === undefined ? '--token-claims' : '--claims'} must be a JSON object, such as {"org":"acme"}`;
  return provider === undefined ? { claims: held } : { token: { provider, claims: held } };
}

function explained(
  access: OfflineAccess,
  caller: Caller,
  { registry: name, entry, type }: Pick<ExplainOptions, 'registry' | 'entry' | 'type'>,
): { answer: StatusAnswer; steps: Step[] } {
  const registry = access.registry(name);
  if (!registry) {
    const code = 'registry_not_found';
    return { answer: { status: 404, code }, steps: [{ step: 'registry', outcome: 'absent', code }] };
  }
  const { claims } = caller;
  const { policy } = access;
  let gate: Judgement | undefined;
  const mayEnter = policy.mayReach(caller, registry.claims, (recorded) => (gate = recorded));
  const steps: Step[] = [{ step: 'registry', outcome: 'passed' }];
  if (gate) steps.push(judgedStep('gate', gate, claims, mayEnter ? {} : { code: 'registry_forbidden' }));
  let answer: StatusAnswer = mayEnter ? SHOWN : { status: 403, code: 'registry_forbidden' };
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
