import type { LoggerService } from '@nestjs/common';
import { type DestinationStream, type Logger, pino } from 'pino';
import type { LogFormat } from '../config/config.js';
import { tracing } from './tracing.js';

/**
 * Returns a destination that writes lines in asynchronous batches, and the remaining ones when the process exits. While the
 * reader is stopped, lines beyond 8 MiB are dropped.
 *
 * @param fd file descriptor.
 * @param onDropped called with the number of dropped lines once the reader continues.
 */
export function batchedDestination(fd: number, onDropped: (lines: number) => void): DestinationStream {
  const options = {
    dest: fd,
    sync: false,
    minLength: 4_096,
    periodicFlush: 50,
    maxLength: 8 * 1_024 * 1_024,
  };
  const stream = pino.destination(options);
  let dropped = 0;
  stream.on('drop', () => (dropped += 1));
  stream.on('drain', () => {
    if (dropped > 0) onDropped(dropped);
    dropped = 0;
  });
  return stream;
}

/** Standard output. */
const STDOUT = 1;

/**
 * Creates the JSON logger, which adds `traceId` to lines logged within a trace. `describeError` selects the parts of an
 * error that are logged, because database errors include statement parameters, which may be personal data.
 */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError },
    mixin: () => {
      const traceId = tracing.traceId();
      return traceId === undefined ? {} : { traceId };
    },
  };
  if (destination) return pino(options, destination);
  const logger: Logger = pino(
    options,
    batchedDestination(STDOUT, (dropped) =>
      logger.warn({ context: 'log', dropped }, 'Log lines were dropped because the reader was too slow'),
    ),
  );
  return logger;
}

/** Creates a logger on stdout or stderr. */
export async function createStreamLogger(level: string, format: LogFormat, stream = STDOUT): Promise<Logger> {
  if (format === 'json') {
    // Short-lived commands log to stderr, synchronously so that no line is lost.
    return createLogger(
      level,
      stream === STDOUT ? undefined : pino.destination({ dest: stream, sync: true }),
    );
  }
  const { textStream } = await import('./log-text.js');
  return createLogger(level, textStream(stream));
}

/** Returns the configured format; by default text on a terminal and JSON elsewhere. */
export function logFormat(configured: LogFormat | null, stream: { readonly isTTY?: boolean }): LogFormat {
  return configured ?? (stream.isTTY === true ? 'text' : 'json');
}

/** Returns the parts of an error that are logged. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error };
  const { code } = error as Error & { code?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === 'string' ? { code } : {}),
    stack: error.stack,
    ...(error.cause instanceof Error ? { cause: describeError(error.cause) } : {}),
  };
}

type Level = 'info' | 'warn' | 'error' | 'fatal' | 'debug' | 'trace';

/** Contexts of Nest's start-up messages about every module and route, logged at `debug`. */
const STARTUP_CONTEXTS = new Set([
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestFactory',
  'NestApplication',
]);

/** Passes log lines from Nest, and from our classes that use Nest's Logger, to pino. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log = (message: unknown, ...rest: unknown[]) => this.write('info', message, rest);
  warn = (message: unknown, ...rest: unknown[]) => this.write('warn', message, rest);
  error = (message: unknown, ...rest: unknown[]) => this.write('error', message, rest);
  fatal = (message: unknown, ...rest: unknown[]) => this.write('fatal', message, rest);
  debug = (message: unknown, ...rest: unknown[]) => this.write('debug', message, rest);
  verbose = (message: unknown, ...rest: unknown[]) => this.write('trace', message, rest);

  // Nest appends the context as the last argument. Our classes pass (fields, sentence); Nest passes (sentence).
  private write(requested: Level, first: unknown, rest: unknown[]): void {
    const context = rest.at(-1);
    const level = requested === 'info' && STARTUP_CONTEXTS.has(String(context)) ? 'debug' : requested;
    const sentence = rest.length > 1 ? rest[0] : undefined;
    const fields = { context: typeof context === 'string' ? context : undefined };
    if (first instanceof Error) this.logger[level]({ ...fields, err: first }, first.message);
    else if (typeof first === 'object' && first !== null)
      this.logger[level]({ ...fields, ...first }, typeof sentence === 'string' ? sentence : '');
    else this.logger[level](fields, String(first));
  }
}
