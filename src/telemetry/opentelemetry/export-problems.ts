import type { DiagLogger } from '@opentelemetry/api';
import type { Logger } from 'pino';

/** A collector that is away is away for longer than one export. */
const REPEAT_MS = 5 * 60_000;

/**
 * Where OpenTelemetry complains. Of what goes wrong with sending, the log gets one line in five minutes, with the kind of error
 * alone: messages may quote what the other side has answered.
 */
export class ExportProblems implements DiagLogger {
  private reportedAt = -Infinity;

  constructor(private readonly logger: Logger) {}

  report(problem: unknown): void {
    const now = performance.now();
    if (now - this.reportedAt < REPEAT_MS) return;
    this.reportedAt = now;
    this.logger.warn(
      { context: 'telemetry', error: kindOf(problem) },
      'Traces or metrics could not be sent; what the collector does not take is dropped',
    );
  }

  error = (_message: string, ...args: unknown[]) => this.report(args[0]);
  warn = () => this.report('spans dropped');
  info = () => undefined;
  debug = () => undefined;
  verbose = () => undefined;
}

function kindOf(problem: unknown): string {
  if (!(problem instanceof Error))
    return typeof problem === 'string' && problem.length < 50 ? problem : 'unknown';
  const { code } = problem as Error & { code?: unknown };
  return code === undefined ? problem.name : String(code).slice(0, 50);
}
