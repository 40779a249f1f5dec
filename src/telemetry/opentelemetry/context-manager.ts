import { type Context, ROOT_CONTEXT } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { isTracingSuppressed } from '@opentelemetry/core';

/**
 * The stock context manager without two costs per request: creating contexts outside traces, and patching the listeners
 * of requests and responses, which async code does not need (docs/decisions/013-runtime-tuning.md).
 */
export class LeanContextManager extends AsyncLocalStorageContextManager {
  override with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    context: Context,
    work: F,
    thisArg?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    const active = this.active();
    // Outside a trace there is nothing to suppress.
    if (active === context || (active === ROOT_CONTEXT && isTracingSuppressed(context)))
      return work.apply(thisArg as ThisParameterType<F>, args);
    return super.with(context, work, thisArg, ...args);
  }

  override bind<T>(context: Context, target: T): T {
    return typeof target === 'function' ? super.bind(context, target) : target;
  }
}
