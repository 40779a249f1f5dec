import { context, type TextMapPropagator, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { RequestHookFunction } from '@opentelemetry/instrumentation-undici';

const W3C = new W3CTraceContextPropagator();

/** Returns a propagator that continues the traces of incoming requests. It adds nothing to outgoing ones. */
export function receivedTraceparent(propagates: boolean): TextMapPropagator {
  return {
    inject: () => undefined,
    extract: (...args) => (propagates ? W3C.extract(...args) : args[0]),
    fields: () => W3C.fields(),
  };
}

/**
 * Returns a hook that adds `traceparent` to outgoing requests to these hosts. The header lets the receiver correlate
 * requests, so it is not sent to third parties such as identity providers.
 */
export function addTraceparentFor(hosts: readonly string[]): RequestHookFunction {
  return (span, request) => {
    if (!hosts.includes(new URL(request.origin).hostname)) return;
    W3C.inject(trace.setSpan(context.active(), span), request, {
      set: ({ addHeader }, name, value) => addHeader.call(request, name, value),
    });
  };
}
