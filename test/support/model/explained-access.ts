import { isDeepStrictEqual } from 'node:util';
import type { Answer, ConsumerQuestion, Held, ModelState, Setting } from './model.js';
import { observed, pathOf } from './questions.js';
import type { Replica } from './replica.js';

interface Missing {
  readonly key: string;
  readonly needs: string;
}

interface Explanation {
  readonly answer: { readonly status: number; readonly code?: string };
  readonly decision: string;
  readonly steps: readonly {
    step: string;
    outcome: string;
    source?: string;
    shadowedBy?: string;
  }[];
  readonly missing?: readonly Missing[];
  readonly hints: readonly string[];
}

/** A consumer request, its caller and its response. */
export interface Answered {
  readonly state: ModelState;
  readonly question: ConsumerQuestion;
  readonly prefix: string;
  readonly expected: Answer;
  /** The page itself. */
  readonly text: string;
  readonly token: string | null;
  /** The token of a super-admin of the same setting. */
  readonly root: string | null;
}

/** Claims that make a caller a super-admin. */
export function superAdminOf({ roles }: Setting): Held {
  const [rule = {}] = roles.superAdmin;
  return { sub: 'root', aud: 'registry', ...rule };
}

/** Returns details if explain contradicts the response or preview shows a different page. */
export async function explainedDifference(replica: Replica, answered: Answered): Promise<object | undefined> {
  const { state, question, prefix, expected, token } = answered;
  // A caller without a token cannot explain; keys, deleted versions and the registry list are not covered.
  const asksForTokens = state.setting.mode !== 'anonymous';
  if ((asksForTokens && token === null) || question.key || question.deleted) return undefined;
  const registry = prefix + question.of;
  const { type, name, version } = question;
  const exact = question.ask === 'version' ? { version } : {};
  const asked = question.ask === 'list' ? { registry } : { registry, entry: { type, name, ...exact } };
  const own = await explain(replica, asked, token);
  const wanted = answerOf(expected);
  if (!isDeepStrictEqual(own.answer, wanted)) return { asked, own, wanted };
  const isShown = expected.status === 200;
  if ((own.decision === 'shown') !== isShown) return { asked, own, wanted };
  const as = await claimsOf(replica, token);
  const byRoot = await explain(replica, { ...asked, as }, answered.root);
  if (!isDeepStrictEqual(byRoot.answer, wanted)) return { asked, as, byRoot, wanted };
  const gate = byRoot.steps.find(({ step }) => step === 'gate');
  if (gate && (gate.outcome === 'passed') !== (expected.status !== 403)) return { asked, as, byRoot, wanted };
  return (
    (await wrongSteps(replica, answered, byRoot)) ??
    (await notMinimal(replica, { ...asked, as }, byRoot, answered.root)) ??
    (question.ask === 'list' ? await otherPage(replica, answered, as) : undefined)
  );
}

async function explain(replica: Replica, question: object, token: string | null): Promise<Explanation> {
  const { status, text } = await replica.post('/v1/access/explain', question, token);
  if (status !== 200) throw new Error(`explain: ${status} ${text} ${JSON.stringify(question)}`);
  return JSON.parse(text) as Explanation;
}

function answerOf(answer: Answer): Explanation['answer'] {
  return 'code' in answer ? { status: answer.status, code: answer.code } : { status: answer.status };
}

async function claimsOf(replica: Replica, token: string | null): Promise<{ claims: Held }> {
  const { status, text } = await replica.get('/v1/me?claims=true', token);
  return { claims: status === 200 ? (JSON.parse(text) as { claims: Held }).claims : {} };
}

/** Whether the steps report a different source or version than the consumer API, with and without `include_deleted`. */
async function wrongSteps(
  replica: Replica,
  { question, prefix, expected, token }: Answered,
  { steps }: Explanation,
): Promise<object | undefined> {
  if (question.ask === 'list' || expected.status === 403) return undefined;
  const rowsOf = async (asked: ConsumerQuestion) => {
    const { status, text } = await replica.get(pathOf(asked, prefix), token);
    const found = observed(asked, prefix, status, text);
    return 'shown' in found ? (found.shown as { from: string }[]) : [];
  };
  const version = question.ask === 'version' ? question.version : 'latest';
  const single = { ...question, ask: 'version', version } as const;
  const [provided] = await rowsOf({ ...question, ask: 'versions', deleted: true });
  const [shown] = await rowsOf(single);
  const [stored] = await rowsOf({ ...single, deleted: true });
  const source = provided && `${prefix}${provided.from}`;
  const outcome = shown ? 'passed' : stored ? 'refused' : 'absent';
  const wanted = source ? [{ source, outcome }] : [];
  const versions = steps
    .filter(({ step }) => step === 'version')
    .map((step) => ({ source: step.source, outcome: step.outcome }));
  const visible = steps.filter((step) => step.step === 'entry' && step.outcome === 'passed');
  const shadowed = steps.filter((step) => step.step === 'shadowing' && step.outcome === 'refused');
  const isRight =
    isDeepStrictEqual(versions, wanted) &&
    visible[0]?.source === source &&
    shadowed.length === Math.max(0, visible.length - 1) &&
    shadowed.every(({ shadowedBy }) => shadowedBy === source);
  return isRight ? undefined : { question, steps, wanted };
}

/** reference/explain: adding exactly `missing` grants access, and adding all but one value does not. */
async function notMinimal(
  replica: Replica,
  asked: { as: { claims: Held } },
  { missing }: Explanation,
  root: string | null,
): Promise<object | undefined> {
  if (!missing) return undefined;
  const withMissing = (added: readonly Missing[]) => {
    const claims: Record<string, unknown> = { ...asked.as.claims };
    for (const { key, needs } of added)
      claims[key] = Object.hasOwn(claims, key) ? [claims[key], needs].flat() : needs;
    return explain(replica, { ...asked, as: { claims } }, root);
  };
  const opened = await withMissing(missing);
  if (opened.decision !== 'shown') return { asked, missing, opened };
  for (const [index, left] of missing.entries()) {
    const without = await withMissing(missing.toSpliced(index, 1));
    if (without.decision === 'shown') return { asked, missing, left, without };
  }
  return undefined;
}

async function otherPage(
  replica: Replica,
  { question: { of, type }, prefix, expected, text, root }: Answered,
  as: { claims: Held },
): Promise<object | undefined> {
  const body = { registry: prefix + of, type, as };
  const { status, text: preview } = await replica.post('/v1/access/preview', body, root);
  if (expected.status === 404) return status === 404 ? undefined : { body, preview };
  const page = expected.status === 200 ? text : 'null';
  return preview.endsWith(`,"page":${page}}`) ? undefined : { body, preview, page };
}
