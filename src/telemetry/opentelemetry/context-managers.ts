import { promiseHooks } from 'node:v8';
import { type Context, type ContextManager, ROOT_CONTEXT } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { isTracingSuppressed } from '@opentelemetry/core';

const CONTEXT = Symbol('context');

interface KeepingPromise extends Promise<unknown> {
  [CONTEXT]?: Context;
}

/**
 * Keeps a context for the code that runs in it and for what awaits there: a promise is made in a context, and what waits for it goes
 * on in that one. Callbacks of timers and of events are in none, unless they are bound to one. An `AsyncLocalStorage` knows these as
 * well, but before Node 24 all requests, in a trace or not, take a seventh more of the processor's time once there is one.
 */
export class PromiseContextManager implements ContextManager {
  private current: Context = ROOT_CONTEXT;
  private isEnabled = false;
  /** From the first context on: promises cost nothing more before. */
  private stop: (() => void) | undefined;

  active(): Context {
    return this.current;
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    context: Context,
    work: F,
    thisArg?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    const before = this.current;
    this.current = context;
    if (this.isEnabled) this.stop ??= this.followPromises();
    try {
      return work.apply(thisArg as ThisParameterType<F>, args);
    } finally {
      this.current = before;
    }
  }

  bind<T>(context: Context, target: T): T {
    if (typeof target !== 'function') return target;
    const run = (thisArg: unknown, args: unknown[]): unknown =>
      this.with(context, () => Reflect.apply(target, thisArg, args) as unknown);
    return function (this: unknown, ...args: unknown[]) {
      return run(this, args);
    } as T;
  }

  enable(): this {
    this.isEnabled = true;
    return this;
  }

  disable(): this {
    this.isEnabled = false;
    this.stop?.();
    this.stop = undefined;
    this.current = ROOT_CONTEXT;
    return this;
  }

  private followPromises(): () => void {
    return promiseHooks.createHook({
      init: (promise: KeepingPromise) => {
        if (this.current !== ROOT_CONTEXT) promise[CONTEXT] = this.current;
      },
      before: (promise: KeepingPromise) => {
        this.current = promise[CONTEXT] ?? ROOT_CONTEXT;
      },
      after: () => {
        this.current = ROOT_CONTEXT;
      },
    }) as () => void;
  }
}

/** From this version on the engine keeps what an `AsyncLocalStorage` holds; before, `async_hooks` do, which make every promise dear. */
const KEPT_BY_ENGINE = 24;

/** What keeps the context of OpenTelemetry in this version of Node. */
export function contextManager(): ContextManager {
  const major = Number(process.versions.node.split('.', 1)[0]);
  return new LeanContextManager(
    major < KEPT_BY_ENGINE ? new PromiseContextManager() : new AsyncLocalStorageContextManager(),
  );
}

/**
 * A context manager without what requests would pay for and nobody here needs: a context for those that are in no trace, and that
 * every listener of a request and its answer runs in theirs. Code that awaits does so anyway.
 */
class LeanContextManager implements ContextManager {
  constructor(private readonly manager: ContextManager) {}

  active(): Context {
    return this.manager.active();
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    context: Context,
    work: F,
    thisArg?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    const active = this.manager.active();
    // Outside of a trace there is nothing to suppress.
    if (active === context || (active === ROOT_CONTEXT && isTracingSuppressed(context)))
      return work.apply(thisArg as ThisParameterType<F>, args);
    return this.manager.with(context, work, thisArg, ...args);
  }

  bind<T>(context: Context, target: T): T {
    return typeof target === 'function' ? this.manager.bind(context, target) : target;
  }

  enable(): this {
    this.manager.enable();
    return this;
  }

  disable(): this {
    this.manager.disable();
    return this;
  }
}
