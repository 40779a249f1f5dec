/** Values of a span, by the names of OpenTelemetry's conventions, or below `registry.`. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** What tracing is to the rest of the program. */
export interface Tracing {
  /** The trace that the running code belongs to. */
  traceId(): string | undefined;
  /** Remembers where in its trace the running code is, for work that others begin later. Undefined without tracing. */
  capture(): ((work: () => void) => void) | undefined;
  /** Does work that is nobody's in particular, whoever has led to it: it is part of no trace, nor is what it begins. */
  outside<T>(work: () => T): T;
  /** Does the work as a span of its own below the running one, or as the first of a new trace. */
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

let inUse = OFF;

/**
 * The one place that knows of traces: for the log, for audit events and for work that is a span of its own. Without tracing it
 * does nothing, and nothing of OpenTelemetry is loaded.
 */
export const tracing: Tracing = {
  traceId: () => inUse.traceId(),
  capture: () => inUse.capture(),
  outside: (work) => inUse.outside(work),
  inSpan: (name, attributes, work, options) => inUse.inSpan(name, attributes, work, options),
};

/** Once, at start: a process has one tracing, as it has one of what it hooks into. */
export function useTracing(started: Tracing): void {
  inUse = started;
}
