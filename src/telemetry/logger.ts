import type { LoggerService } from '@nestjs/common';
import { type DestinationStream, type Logger, pino } from 'pino';

/**
 * The log: one JSON object a line. Errors are written as type, message, code and stack only, because those of the
 * database carry the statement's parameters, and those may be anybody's.
 */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError },
  };
  // Lines go out side by side with requests; what is left is written when the process exits.
  return pino(options, destination ?? pino.destination({ dest: 1, sync: false }));
}

/** What of an error goes into the log. */
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

/** Where Nest tells of every module and route at each start. */
const CHATTER = new Set([
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
  private write(wanted: Level, first: unknown, rest: unknown[]): void {
    const context = rest.at(-1);
    const level = wanted === 'info' && CHATTER.has(String(context)) ? 'debug' : wanted;
    const sentence = rest.length > 1 ? rest[0] : undefined;
    const fields = { context: typeof context === 'string' ? context : undefined };
    if (first instanceof Error) this.logger[level]({ ...fields, err: first }, first.message);
    else if (typeof first === 'object' && first !== null)
      this.logger[level]({ ...fields, ...first }, typeof sentence === 'string' ? sentence : '');
    else this.logger[level](fields, String(first));
  }
}
