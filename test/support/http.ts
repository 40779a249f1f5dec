import { request } from 'node:http';

export interface Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
  /** The parsed body; undefined when it is no JSON. */
  readonly json: never;
}

interface Call {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/** One request over HTTP with nothing added, normalised or retried: paths go out as they are written. */
export function call(url: string, { method = 'GET', headers = {}, body }: Call = {}): Promise<Reply> {
  const [, host, port, path] = /^http:\/\/([^/:]+):(\d+)(.*)$/s.exec(url) ?? [];
  return new Promise((resolve, reject) => {
    const outgoing = request({ host, port, path: path || '/', method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          json: parse(text) as never,
        });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
