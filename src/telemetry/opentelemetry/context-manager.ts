import { type Context, type ContextManager, ROOT_CONTEXT } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { isTracingSuppressed } from '@opentelemetry/core';
import { PromiseContextManager } from './promise-context-manager.js';

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
