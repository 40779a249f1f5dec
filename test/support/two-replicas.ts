import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { aDatabase, type TestDatabase } from './database.js';
import type { Issuer } from './issuer.js';
import { ServedProcess } from './process.js';
import type { Setting } from './model/model.js';

/** Two replicas in separate processes on one database, in full mode. */
export interface Replicas {
  readonly both: readonly [ServedProcess, ServedProcess];
  readonly database: TestDatabase;
  /** Directory for file sources; the caller writes the files. */
  readonly folder: string;
  stop(): Promise<void>;
}

export async function startReplicas(issuer: Issuer, roles: Partial<Setting['roles']>): Promise<Replicas> {
  const folder = await mkdtemp(join(tmpdir(), 'registry-replicas-'));
  await chmod(folder, 0o755);
  const database = await aDatabase();
  const configuration = join(folder, 'registry.yaml');
  const provider = { name: 'p', issuerUrl: issuer.iss, audience: issuer.audience, allowPrivateIP: true };
  const oauth = { resourceUrl: 'https://registry.example.com', providers: [provider] };
  await writeFile(
    configuration,
    stringify({
      auth: { mode: 'oauth', oauth, authz: { roles } },
      database: database.connection,
      adminFileRoot: folder,
      // Few callers, each with many concurrent reads and many changes.
      limits: { searchesPerCaller: 1_000, changesPerMinute: 1_000_000 },
    }),
  );
  const start = () => ServedProcess.start(configuration, issuer);
  const both: Replicas['both'] = await Promise.all([start(), start()]);
  return {
    both,
    database,
    folder,
    stop: async () => {
      await Promise.all(both.map((replica) => replica.stop()));
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
