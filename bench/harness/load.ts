import autocannon from 'autocannon';

export interface LoadRequest {
  readonly path: string;
  readonly token?: string;
  /** Of a POST, as JSON; without one it is a GET. */
  readonly body?: object;
}

export interface Load {
  readonly url: string;
  /** What is asked for, in turn. */
  readonly requests: readonly LoadRequest[];
  readonly connections: number;
  readonly seconds: number;
}

/** Requests answered per second, all of them with 200. The load comes from a thread of its own. */
export async function requestsPerSecond({ url, requests, connections, seconds }: Load): Promise<number> {
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    workers: 1,
    requests: requests.map(({ path, token, body }) => ({
      path,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { method: 'POST' as const, body: JSON.stringify(body) }),
    })),
  });
  const { non2xx, errors } = result;
  if (non2xx > 0 || errors > 0) throw new Error(`${url}: ${non2xx} answers were no 200, ${errors} errors`);
  return result['2xx'] / result.duration;
}
