import { type Context, ROOT_CONTEXT } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { isTracingSuppressed } from '@opentelemetry/core';

/**
 * The context of OpenTelemetry, without what requests would pay for and nobody here needs: a context for those that are in no
 * trace, and that every listener of a request and its answer runs in theirs. Code that awaits does so anyway.
 */
export class LeanContextManager extends AsyncLocalStorageContextManager {
  override with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    context: Context,
    work: F,
    thisArg?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    const active = this.active();
    // Outside of a trace there is nothing to suppress.
    if (active === context || (active === ROOT_CONTEXT && isTracingSuppressed(context)))
      return work.apply(thisArg as ThisParameterType<F>, args);
    return super.with(context, work, thisArg, ...args);
  }

  override bind<T>(context: Context, target: T): T {
    return typeof target === 'function' ? super.bind(context, target) : target;
  }
}
