import autocannon from 'autocannon';

interface LoadRequest {
  readonly path: string;
  readonly token?: string;
  /** Sent as a JSON POST; absent: GET. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Load {
  readonly url: string;
  /** Requests, sent in rotation. */
  readonly requests: readonly LoadRequest[];
  readonly connections: number;
  readonly seconds: number;
}

/** Returns requests per second; all must get a 200. A worker thread generates the load. */
export async function requestsPerSecond({ url, requests, connections, seconds }: Load): Promise<number> {
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    workers: 1,
    requests: requests.map(({ path, token, body, headers }) => ({
      path,
      headers: {
        ...headers,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { method: 'POST' as const, body: JSON.stringify(body) }),
    })),
  });
  const { non2xx, errors } = result;
  if (non2xx > 0 || errors > 0)
    throw new Error(`${url}: ${non2xx} responses other than 2xx, ${errors} errors`);
  return result['2xx'] / result.duration;
}
