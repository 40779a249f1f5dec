import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { Cli } from '../support/cli.js';
import { aDatabase } from '../support/database.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';

describe('many bodies that expand in memory when parsed', () => {
  /** Twice as many as fit in the heap. */
  const BODIES = 16;
  const folder = aFolder();

  it('do not crash a service with the heap size of the shipped manifest', async () => {
    const database = await aDatabase();
    const configuration = {
      auth: { mode: 'anonymous' },
      database: database.connection,
      sources: [{ name: 'published', managed: {} }],
    };
    const served = Cli.serve(folder.write('registry.yaml', stringify(configuration)), {
      NODE_OPTIONS: '--max-old-space-size=256',
    });
    await served.logs('"Ready"');
    const origin = await served.origin();
    const body = JSON.stringify({ server: { ...aServer('io.acme/a'), j: 0 }, claims: {} }).replace(
      '"j":0',
      `"j":[${'[],'.repeat(380_000)}0]`,
    );
    const send = () =>
      fetch(`${origin}/v1/entries/validate`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body,
      }).then(({ status }) => status);
    const statuses = await Promise.all(Array.from({ length: BODIES }, send));
    for (const status of statuses) expect(status).toBeOneOf([200, 400, 408, 503]);
    expect((await fetch(`${origin}/registry`)).status).toBe(200);
    served.child.kill('SIGTERM');
    await served.finished;
    await database.drop();
  });
});
