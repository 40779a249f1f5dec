import { randomBytes } from 'node:crypto';
import { Pool } from 'undici';
import { keyDigest } from '#service/config/registry-keys.js';
import { atMost, type Figure, figure } from './harness/figure.js';
import { say } from './harness/report.js';
import { median, rounds, timeOf } from './harness/rounds.js';
import { startService } from './harness/service.js';
import type { Stage } from './harness/stage.js';

/** The maximum per registry: each request's key is compared with all of them. */
const KEYS = 20;

/**
 * Measures whether the response time of a refusal reveals anything about a key (reference/access). Sends a wrong, an
 * expired, a foreign and a truncated key, and a key of an unknown registry, in rotation on one connection.
 */
export async function measureKeys(stage: Stage, quick: boolean): Promise<Figure[]> {
  const catalogue = await stage.catalogue(1_000, 20);
  const [good, expired, foreign] = [aKey(), aKey(), aKey()];
  const stored = (key: string, expires: string | null) => ({
    name: key.slice(0, 8).toLowerCase(),
    digest: keyDigest(key),
    secretFile: '/run/secrets/key',
    claims: { org: 'acme' },
    expires,
  });
  const others = Array.from({ length: KEYS - 2 }, () => stored(aKey(), null));
  const ours = [stored(good, null), stored(expired, '2020-01-01'), ...others];
  await catalogue.client.query(`update registry set keys = $1 where name = 'main'`, [JSON.stringify(ours)]);
  await catalogue.client.query(
    `insert into registry (name, claim_set_id, origin, position, keys)
     select 'other', claim_set_id, origin, 1, $1 from registry where name = 'main'`,
    [JSON.stringify([stored(foreign, null)])],
  );
  const service = await startService(stage, catalogue, { configuration: { adminOpenAccess: true } });
  const connection = new Pool(service.url, { connections: 1 });
  const ask = async (path: string, expected: number) => {
    const { statusCode, body } = await connection.request({ method: 'GET', path });
    await body.dump();
    if (statusCode !== expected) throw new Error(`${path}: ${statusCode} instead of ${expected}`);
  };
  const at = (key: string, registry = 'main') => `/registry/${registry}/k/${key}/v0.1/servers?limit=1`;
  const refused: Record<string, () => string> = {
    wrong: () => at(aKey()),
    expired: () => at(expired),
    'of another registry': () => at(foreign),
    shortened: () => at(good.slice(0, -1)),
    'of no registry': () => at(good, 'nowhere'),
  };
  const medians = await rounds(quick ? 3 : 5, async (round) => {
    say(`keys, round ${round}`);
    await ask(at(good), 200);
    const times = new Map(Object.keys(refused).map((name): [string, number[]] => [name, []]));
    for (let count = 0; count < (quick ? 300 : 1_000); count += 1)
      for (const [name, path] of Object.entries(refused)) {
        const target = path();
        times.get(name)?.push(await timeOf(() => ask(target, 404)));
      }
    return new Map([...times].map(([name, taken]) => [name, median(taken)]));
  });
  await connection.close();
  await service.stop();
  await catalogue.client.query(`delete from registry where name = 'other'`);
  await catalogue.client.query(`update registry set keys = '[]' where name = 'main'`);
  const ratios = medians.map((each) => Math.max(...each.values()) / Math.min(...each.values()));
  const last = [...(medians.at(-1) ?? [])].map(([name, taken]) => `${name} ${taken.toFixed(2)} ms`);
  return [figure('keys', 'longest median of a refused key / shortest', ratios, atMost(2), last.join(', '))];
}

function aKey(): string {
  return randomBytes(32).toString('base64url');
}
