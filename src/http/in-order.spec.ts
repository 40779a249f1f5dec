import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { inOrder, type Middleware } from './in-order.js';

/** What the steps have left when the last of them is done, or an error ends them. */
async function run(...steps: readonly ((passed: string[]) => Middleware)[]): Promise<unknown[]> {
  const passed: string[] = [];
  const request = new IncomingMessage(new Socket());
  const error = await new Promise((resolve) => {
    inOrder(...steps.map((step) => step(passed)))(request, new ServerResponse(request), resolve);
  });
  return [...passed, ...(error === undefined ? [] : [(error as Error).message])];
}

const step =
  (name: string) => (passed: string[]) => (_request: unknown, _response: unknown, next: () => void) => {
    passed.push(name);
    next();
  };
const later = () => (_request: unknown, _response: unknown, next: () => void) =>
  void setImmediate().then(next);
const refuses = () => (_request: unknown, _response: unknown, next: (error?: unknown) => void) =>
  next(new Error('refused'));
const throws = () => () => {
  throw new Error('thrown');
};

it.each([
  ['one after the other', [step('a'), step('b')], ['a', 'b']],
  ['also those that take time', [step('a'), later, step('b')], ['a', 'b']],
  ['up to the first that refuses', [step('a'), refuses, step('b')], ['a', 'refused']],
  ['up to the first that throws', [throws, step('b')], ['thrown']],
  ['however late it throws', [step('a'), later, throws, step('b')], ['a', 'thrown']],
])('steps run in order: %s', async (_what, steps, expected) => expect(await run(...steps)).toEqual(expected));
