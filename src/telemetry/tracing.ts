/** Attribute names follow OpenTelemetry's conventions or start with `registry.`. */
type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface Tracing {
  traceId(): string | undefined;
  /** Captures the current context; the returned function runs work in it. */
  capture(): (work: () => void) => void;
  outside<T>(work: () => T): T;
  /** Runs work in a child span, or in the root span of a new trace. */
  inSpan<T>(
    name: string,
    attributes: SpanAttributes,
    work: (add: (more: SpanAttributes) => void) => Promise<T>,
    options?: { readonly newTrace?: boolean },
  ): Promise<T>;
}

/** Undefined if tracing is not configured; OpenTelemetry is then not loaded. */
export let tracing: Tracing | undefined;

/** Called once at startup, because instrumentation applies to the whole process. */
export function useTracing(started: Tracing): void {
  tracing = started;
}

/** Works like `Tracing.inSpan`; without tracing, only runs the work. */
export const inSpan: Tracing['inSpan'] = (name, attributes, work, options) =>
  tracing ? tracing.inSpan(name, attributes, work, options) : work(() => undefined);
