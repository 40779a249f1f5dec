import { randomInt } from 'node:crypto';
import { isDeepStrictEqual, inspect } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { anIssuer } from '../support/issuer.js';
import { type Answered, explainedDifference, superAdminOf } from '../support/model/explained-access.js';
import { answer } from '../support/model/reference.js';
import { type Replica, startReplica, tokenFor } from '../support/model/replica.js';
import { inSoak } from '../support/soak.js';
import type { Setting } from '../support/model/model.js';
import { pathOf, sorted, observed } from '../support/model/questions.js';
import {
  expectedMembers,
  hasMembers,
  membersPath,
  observedMembers,
} from '../support/model/member-questions.js';
import { expectedOfTool, isForTool, observedByTool, toolRequest } from '../support/model/tool-questions.js';
import { ModelRows } from '../support/model/model-rows.js';
import { type Asked, aModelState, settings } from '../support/model/arbitraries.js';

const STATES = Number(process.env['MODEL_STATES'] ?? inSoak(20_000, 24));
/** Every n-th state is also explained: all states in the soak tests and when MODEL_STATES is set. */
const EXPLAINED = process.env['MODEL_STATES'] === undefined ? inSoak(1, 6) : 1;
const BATCHES_A_ROUND = inSoak(10, 2);
const STATES_A_BATCH = inSoak(50, 12);
/** Time limit of one round, including shrinking a failure. A round without a failure takes a small part of it. */
const ROUND_MS = 500_000;

// A failure prints its seed: MODEL_SEED=… npx vitest run access.model draws the same states.
const seed = Number(process.env['MODEL_SEED'] ?? inSoak(randomInt(2 ** 31), 7));

describe('visibility', () => {
  const issuer = anIssuer().runs();
  const all = settings(seed);
  const replicas = new Map<Setting, Replica>();
  let database: TestDatabase;
  let rows: ModelRows;
  const done = { states: 0, answers: 0, refused: 0, explained: 0, byTools: 0, ofMembers: 0, batches: 0 };

  beforeAll(async () => {
    database = await aDatabase();
    rows = new ModelRows(database);
    await rows.prepare();
    for (const setting of all) replicas.set(setting, await startReplica(setting, database, issuer));
  });
  afterAll(async () => {
    await Promise.all([...replicas.values()].map((replica) => replica.stop()));
    await database.drop();
  });

  async function checkTogether(batch: readonly Asked[]): Promise<void> {
    done.batches += 1;
    const prefixed = batch.map((asked, index) => ({ ...asked, prefix: `w${done.batches}-${index}-` }));
    await rows.replace(prefixed);
    const differences = await Promise.all(
      prefixed.map((asked, index) => findDifference(asked, asked.prefix, index % EXPLAINED === 0)),
    );
    const [first] = differences.filter((difference) => difference !== undefined);
    if (first !== undefined) throw new Error(first);
  }

  async function findDifference(
    { state, questions }: Asked,
    prefix: string,
    isExplained: boolean,
  ): Promise<string | undefined> {
    const root = state.setting.mode === 'anonymous' ? null : tokenFor(issuer, superAdminOf(state.setting));
    const tokens = state.callers.map((caller) => caller && tokenFor(issuer, caller));
    const replica = replicas.get(state.setting);
    for (const question of questions) {
      const expected = sorted(question, answer(state, question));
      const reply = await replica?.get(pathOf(question, prefix), tokens[question.by]);
      const shown = reply && sorted(question, observed(question, prefix, reply.status, reply.text));
      if (!isDeepStrictEqual(shown, expected)) return inspect({ state, question, expected, shown }, INSPECT);
      if (isExplained && 'type' in question) {
        const token = tokens[question.by] ?? null;
        const explained = { state, question, prefix, expected, text: reply?.text ?? '', token, root };
        const difference = await findInExplained(explained);
        if (difference) return inspect({ state, question, difference }, INSPECT);
      }
      if (isForTool(question)) {
        const { path, body } = toolRequest(question, prefix);
        const replyOfTool = await replica?.post(path, body, tokens[question.by]);
        const byTool = replyOfTool && observedByTool(question, replyOfTool);
        if (!isDeepStrictEqual(byTool, expectedOfTool(question, expected)))
          return inspect({ state, question, expected, byTool }, INSPECT);
        done.byTools += 1;
      }
      if (hasMembers(question)) {
        const replyOfMembers = await replica?.get(membersPath(question, prefix), tokens[question.by]);
        const members = replyOfMembers && observedMembers(replyOfMembers.status, replyOfMembers.text);
        if (!isDeepStrictEqual(members, expectedMembers(expected)))
          return inspect({ state, question, expected, members }, INSPECT);
        done.ofMembers += 1;
      }
      done.answers += 1;
      done.refused += expected.status === 200 ? 0 : 1;
    }
    done.states += 1;
    return undefined;
  }

  async function findInExplained(answered: Answered): Promise<object | undefined> {
    const replica = replicas.get(answered.state.setting);
    done.explained += 1;
    return replica && explainedDifference(replica, answered);
  }

  it(`matches the reference model in ${STATES} random states under every mode and policy`, async () => {
    const states = fc.array(aModelState(all), { minLength: 1, maxLength: STATES_A_BATCH, size: 'max' });
    for (let round = 0; done.states < STATES; round += 1)
      await fc.assert(fc.asyncProperty(states, checkTogether), {
        seed: seed + round,
        numRuns: BATCHES_A_ROUND,
        interruptAfterTimeLimit: ROUND_MS,
        markInterruptAsFailure: true,
        reporter: explain,
      });
    console.info(`MODEL_SEED=${seed}: ${inspect(done)}`);
    expect(done.states).toBeGreaterThanOrEqual(STATES);
  });
});

// Prints the smallest failing state, the question and both responses; fast-check would print them on one line.
function explain({ failed, errorInstance, numShrinks }: fc.RunDetails<[readonly Asked[]]>): void {
  if (!failed) return;
  const why = errorInstance instanceof Error ? errorInstance.message : 'it took too long';
  throw new Error(`MODEL_SEED=${seed}, shrunk ${numShrinks} times: ${why}`);
}

const INSPECT = { depth: null, breakLength: 110, sorted: false } as const;
