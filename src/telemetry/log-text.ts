import pretty from 'pino-pretty';

type Line = Readonly<Record<string, unknown>>;

/** The log as lines for people: time, level, what it is about, the sentence, and what else there is. */
export function textStream(stream: number): pretty.PrettyStream {
  return pretty({
    destination: stream,
    // Written at once: a person waits for it.
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
