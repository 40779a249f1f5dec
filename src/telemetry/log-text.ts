import pretty from 'pino-pretty';

type Line = Readonly<Record<string, unknown>>;

/** Writes log lines as text: time, level, context, message, other fields. */
export function textStream(stream: number): pretty.PrettyStream {
  return pretty({
    destination: stream,
    sync: true,
    translateTime: 'SYS:HH:MM:ss.l',
    singleLine: true,
    ignore: 'context,method,path,route,responseTime',
    messageFormat: (line: Line) => sentenceOf(line),
  });
}

function sentenceOf({ msg, context, method, path, responseTime }: Line): string {
  if (msg === 'request') return `${String(method)} ${String(path)} in ${String(responseTime)} ms`;
  return typeof context === 'string' ? `${context}: ${String(msg)}` : String(msg);
}
