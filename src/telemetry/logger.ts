import type { LoggerService } from '@nestjs/common';
import { type DestinationStream, type Logger, pino } from 'pino';
import type { LogFormat } from '../config/config.js';
import { tracing } from './tracing.js';

/** Bytes that wait for a reader who takes none: with more, lines are dropped, before they fill the memory. */
const MAX_WAITING = 8 * 1_024 * 1_024;
/** How long lines are collected to be written together, and how many characters of them at most. */
const COLLECTING_MS = 20;
const MAX_COLLECTED = 64 * 1_024;

/**
 * A stream of the process for the log. Lines that come soon after each other are written together, asynchronously: a write for each of
 * them would cost as much as all the rest of the log. What is left is written when the process exits.
 */
export class LogDestination implements DestinationStream {
  private readonly stream;
  private lines = '';
  /** Not told yet. */
  private dropped = 0;
  private isInUse = false;

  /**
   * @param stream the number of the stream.
   * @param onDropped is told how many lines were lost, once there is room for one that says so.
   */
  constructor(
    stream: number,
    private readonly onDropped: (lines: number) => void,
  ) {
    this.stream = pino.destination({ dest: stream, sync: false, maxLength: MAX_WAITING });
    this.stream.on('drop', (lines: string) => (this.dropped += lines.split('\n').length - 1));
    this.stream.on('drain', () => this.tell());
  }

  write(line: string): void {
    if (!this.isInUse) this.begin();
    if (this.lines === '') setTimeout(() => this.pass(), COLLECTING_MS);
    this.lines += line;
    if (this.lines.length >= MAX_COLLECTED) this.pass();
  }

  /** After a line that may be the last. */
  flushSync(): void {
    this.pass();
    this.stream.flushSync();
  }

  private begin(): void {
    this.isInUse = true;
    // Before pino's own listener, which writes what the stream has by then.
    process.prependListener('exit', () => this.pass());
  }

  private pass(): void {
    if (this.lines === '') return;
    const { lines } = this;
    this.lines = '';
    this.stream.write(lines);
  }

  private tell(): void {
    const { dropped } = this;
    if (dropped === 0) return;
    this.dropped = 0;
    this.onDropped(dropped);
  }
}

/** Standard output. */
const STDOUT = 1;

/**
 * The log: one JSON object per line. Errors are written as type, message, code and stack only: those of the database carry
 * the parameters of the statement, which may be personal data. Lines that belong to a trace name it.
 */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: timestamp(),
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
    new LogDestination(STDOUT, (dropped) =>
      logger.warn({ context: 'log', dropped }, 'Lines of the log were dropped: they were read too slowly'),
    ),
  );
  return logger;
}

/** Makes the time of lines: of those of one millisecond once. */
function timestamp(): () => string {
  let [at, text] = [NaN, ''];
  return () => {
    const now = Date.now();
    if (now !== at) [at, text] = [now, `,"time":"${new Date(now).toISOString()}"`];
    return text;
  };
}

/** The log on a stream of the process, as JSON, or as text for who reads along. */
export async function createStreamLogger(level: string, format: LogFormat, stream = STDOUT): Promise<Logger> {
  if (format === 'json') {
    // What is no service ends soon, and loses nothing.
    return createLogger(
      level,
      stream === STDOUT ? undefined : pino.destination({ dest: stream, sync: true }),
    );
  }
  const { textStream } = await import('./log-text.js');
  return createLogger(level, textStream(stream));
}

/** JSON where a program reads the stream, text where a person does, unless the configuration says. */
export function logFormat(configured: LogFormat | null, stream: { readonly isTTY?: boolean }): LogFormat {
  return configured ?? (stream.isTTY === true ? 'text' : 'json');
}

/** The parts of an error that are logged. */
export function describeError(error: unknown): object {
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

/** Contexts under which Nest logs every module and route at each start. */
const STARTUP_CONTEXTS = new Set([
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestFactory',
  'NestApplication',
]);

/** Lets Nest, and our classes through Nest's Logger, write to pino. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log = (message: unknown, ...rest: unknown[]) => this.write('info', message, rest);
  warn = (message: unknown, ...rest: unknown[]) => this.write('warn', message, rest);
  error = (message: unknown, ...rest: unknown[]) => this.write('error', message, rest);
  fatal = (message: unknown, ...rest: unknown[]) => this.write('fatal', message, rest);
  debug = (message: unknown, ...rest: unknown[]) => this.write('debug', message, rest);
  verbose = (message: unknown, ...rest: unknown[]) => this.write('trace', message, rest);

  // Nest appends the context as the last argument; our classes pass (fields, sentence), Nest itself (sentence).
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
