import { Pool } from 'undici';
import { serverDocument } from '../data/documents.js';

/** Publications per second at this concurrency, each with a new name. */
export async function publicationsPerSecond(
  url: string,
  token: string,
  { atOnce, seconds, series }: { readonly atOnce: number; readonly seconds: number; readonly series: string },
): Promise<number> {
  const pool = new Pool(url, { connections: atOnce });
  const began = performance.now();
  let published = 0;
  const publish = async () => {
    while (performance.now() - began < seconds * 1_000) {
      const number = (published += 1);
      const server = serverDocument(`com.example.${series}/s${number}`, '1.0.0', number, 1);
      const claims = { org: 'acme', team: `team-${number % 10}` };
      const { statusCode, body } = await pool.request({
        method: 'POST',
        path: '/v1/entries',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ server, claims }),
      });
      const text = await body.text();
      if (statusCode !== 201) throw new Error(`${url}: ${statusCode} ${text.slice(0, 500)}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, publish));
  const took = performance.now() - began;
  await pool.close();
  return published / (took / 1_000);
}
