import type { LoggerService } from '@nestjs/common';
import { type DestinationStream, type Logger, pino } from 'pino';
import type { LogFormat } from '../config/config.js';
import { describeError } from '../validation/redaction.js';
import { tracing } from './tracing.js';

/** The maximum number of bytes buffered for a stalled reader. Further lines are dropped. */
const MAX_BUFFERED_BYTES = 8 * 1_024 * 1_024;
/** A batch of lines is written after this interval or this many characters. */
const BATCH_MS = 20;
const MAX_BATCH = 64 * 1_024;

/**
 * Log destination on stdout or stderr. Writes lines in asynchronous batches, since one write per line would double the
 * cost of logging. Writes the remaining lines when the process exits.
 */
export class LogDestination implements DestinationStream {
  private readonly stream;
  private batch = '';
  /** The number of dropped lines not yet reported. */
  private dropped = 0;
  private hasExitListener = false;

  /**
   * @param stream file descriptor.
   * @param onDropped called with the number of dropped lines once the reader continues.
   */
  constructor(
    stream: number,
    private readonly onDropped: (lines: number) => void,
  ) {
    this.stream = pino.destination({ dest: stream, sync: false, maxLength: MAX_BUFFERED_BYTES });
    this.stream.on('drop', (lines: string) => (this.dropped += lines.split('\n').length - 1));
    this.stream.on('drain', () => this.reportDropped());
  }

  write(line: string): void {
    if (!this.hasExitListener) this.flushOnExit();
    if (this.batch === '') setTimeout(() => this.writeBatch(), BATCH_MS);
    this.batch += line;
    if (this.batch.length >= MAX_BATCH) this.writeBatch();
  }

  /** Called by pino after fatal lines. */
  flushSync(): void {
    this.writeBatch();
    this.stream.flushSync();
  }

  private flushOnExit(): void {
    this.hasExitListener = true;
    // Must run before pino's exit listener, which flushes the stream.
    process.prependListener('exit', () => this.writeBatch());
  }

  private writeBatch(): void {
    if (this.batch === '') return;
    const { batch } = this;
    this.batch = '';
    this.stream.write(batch);
  }

  private reportDropped(): void {
    const { dropped } = this;
    if (dropped === 0) return;
    this.dropped = 0;
    this.onDropped(dropped);
  }
}

/** Standard output. */
const STDOUT = 1;

/** Creates the JSON logger, which adds `traceId` to lines logged within a trace. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError },
    mixin: () => {
      const traceId = tracing?.traceId();
      return traceId === undefined ? {} : { traceId };
    },
  };
  if (destination) return pino(options, destination);
  const logger: Logger = pino(
    options,
    new LogDestination(STDOUT, (dropped) =>
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
