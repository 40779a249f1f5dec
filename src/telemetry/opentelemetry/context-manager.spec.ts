import { EventEmitter } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { createContextKey, ROOT_CONTEXT } from '@opentelemetry/api';
import { suppressTracing } from '@opentelemetry/core';
import { afterAll, expect, it } from 'vitest';
import { LeanContextManager } from './context-manager.js';

const manager = new LeanContextManager().enable();
const NAME = createContextKey('name');
const contextOf = (name: string) => ROOT_CONTEXT.setValue(NAME, name);
const activeName = () => manager.active().getValue(NAME);

afterAll(() => void manager.disable());

it('keeps the context across await, separately for concurrent work', async () => {
  const names = async () => {
    await pause(1);
    return activeName();
  };
  expect(
    await Promise.all([
      manager.with(contextOf('one'), names),
      manager.with(contextOf('other'), names),
      names(),
    ]),
  ).toEqual(['one', 'other', undefined]);
});

it('creates no context to suppress tracing outside a trace', () => {
  manager.with(suppressTracing(ROOT_CONTEXT), () => expect(manager.active()).toBe(ROOT_CONTEXT));
});

it('binds functions but not the listeners of event emitters', () => {
  const emitter = manager.bind(contextOf('bound'), new EventEmitter());
  const names: unknown[] = [];
  emitter.on('event', () => names.push(activeName()));
  emitter.emit('event');
  manager.bind(contextOf('bound'), () => names.push(activeName()))();
  expect(names).toEqual([undefined, 'bound']);
});
