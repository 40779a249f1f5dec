import { Pool } from 'undici';

export interface OnceLoad {
  readonly url: string;
  /** Each request is sent at most once. */
  readonly requests: readonly { readonly path: string; readonly token: string }[];
  readonly connections: number;
  readonly seconds: number;
}

/**
 * Requests per second over this many connections, each sending its next request after a response.
 * @throws Error for any status but 200, and when there are too few requests.
 */
export async function eachOncePerSecond({ seconds, ...load }: OnceLoad): Promise<number> {
  const ends = performance.now() + seconds * 1_000;
  const { answered, took } = await sendEach(load, () => performance.now() < ends);
  if (answered === load.requests.length) throw new Error(`${answered} requests are too few`);
  return answered / took;
}

/** Sends every request once. @throws Error for any status but 200. */
export async function sendAll(load: Omit<OnceLoad, 'seconds'>): Promise<void> {
  await sendEach(load, () => true);
}

async function sendEach(
  { url, requests, connections }: Omit<OnceLoad, 'seconds'>,
  mayContinue: () => boolean,
): Promise<{ answered: number; took: number }> {
  const http = new Pool(url, { connections, pipelining: 1 });
  let [asked, answered] = [0, 0];
  const began = performance.now();
  const one = async () => {
    while (mayContinue()) {
      const next = requests[asked];
      asked += 1;
      if (!next) return;
      const headers = { authorization: `Bearer ${next.token}` };
      const { statusCode, body } = await http.request({ method: 'GET', path: next.path, headers });
      await body.dump({ limit: Number.MAX_SAFE_INTEGER });
      if (statusCode !== 200) throw new Error(`${next.path} was answered with ${statusCode}`);
      answered += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, one));
  const took = (performance.now() - began) / 1_000;
  await http.close();
  return { answered, took };
}
