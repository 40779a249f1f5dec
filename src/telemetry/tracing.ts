/** Attribute names follow OpenTelemetry's conventions or start with `registry.`. */
type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface Tracing {
  traceId(): string | undefined;
  /** Captures the current context; the returned function runs work in it. Returns undefined without tracing. */
  capture(): ((work: () => void) => void) | undefined;
  outside<T>(work: () => T): T;
  /** Runs work in a child span, or in the root span of a new trace. */
  inSpan<T>(
    name: string,
    attributes: SpanAttributes,
    work: (add: (more: SpanAttributes) => void) => Promise<T>,
    options?: { readonly newTrace?: boolean },
  ): Promise<T>;
}

const OFF: Tracing = {
  traceId: () => undefined,
  capture: () => undefined,
  outside: (work) => work(),
  inSpan: (_name, _attributes, work) => work(() => undefined),
};

let current = OFF;

/**
 * Tracing for the rest of the server. A no-op until `useTracing` is called, so OpenTelemetry is loaded only if
 * configured.
 */
export const tracing: Tracing = {
  traceId: () => current.traceId(),
  capture: () => current.capture(),
  outside: (work) => current.outside(work),
  inSpan: (name, attributes, work, options) => current.inSpan(name, attributes, work, options),
};

/** Called once at startup, because instrumentation applies to the whole process. */
export function useTracing(started: Tracing): void {
  current = started;
}
