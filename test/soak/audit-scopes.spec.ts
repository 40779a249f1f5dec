import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { type AuditEvent, auditOf, linesIn } from '../support/audit.js';
import { authSection } from '../support/auth-section.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aFolder } from '../support/folder.js';
import { anIssuer } from '../support/issuer.js';
import { ServedProcess } from '../support/process.js';
import type { ServiceUnderTest } from '../support/service.js';

const SCOPES = 40_000;
const MAX_RSS = 400 * 1024 * 1024;

const issuer = anIssuer().runs();
const folder = aFolder();
let database: TestDatabase;
let service: ServedProcess;
beforeAll(async () => {
  database = await aDatabase();
  const auth = authSection({ mode: 'full' }, { issuer } as ServiceUnderTest);
  const configuration = folder.write('registry.yaml', stringify({ auth, database: database.connection }));
  // The heap size of the shipped manifest.
  service = await ServedProcess.start(configuration, issuer, { NODE_OPTIONS: '--max-old-space-size=256' });
  // Sets of teams, as one publisher can choose them.
  await database.query(
    `insert into audit_event (id, time, action, outcome, actor, target, scope, scope_digest, event)
     select (lpad(to_hex(1700000000000 + n), 12, '0') || '70008' || substr(md5(n::text), 1, 15))::uuid,
       now(), 'entry.publish', 'allowed', 'many', 't' || n,
       jsonb_build_object('role', 'manageEntries', 'claims', jsonb_build_array(jsonb_build_object('org', 'many', 'team', team))),
       decode(md5(n::text), 'hex'), json_build_object('requestId', null, 'target', json_build_object('name', 't' || n))
     from generate_series(1, $1) n
     cross join lateral (select jsonb_agg('team-' || bit) from generate_series(0, 15) bit where n & (1 << bit) <> 0) teams(team)`,
    [SCOPES],
  );
});
afterAll(async () => {
  await service?.stop();
  await database.drop();
});

it('lists for managers stay complete under concurrent requests, with 40,000 scopes and 256 MiB of heap', async () => {
  const manager = (sub: string, teams: number) =>
    service.as({
      sub,
      org: 'many',
      team: Array.from({ length: teams }, (_, bit) => `team-${bit}`),
      role: 'writer',
    });
  const named = (events: readonly AuditEvent[]) => events.map(({ target }) => target.name);
  const newest = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => `t${from - index}`);
  const [many, one, other, lines] = await Promise.all([
    auditOf(manager('many', 16)),
    auditOf(manager('one', 3)),
    auditOf(manager('other', 3), 'actor=many'),
    manager('lines', 3).get('/v1/audit', { Accept: 'application/x-ndjson' }),
  ]);
  expect(named(many)).toEqual(newest(SCOPES, 1_000));
  for (const few of [one, other, linesIn(lines)]) expect(named(few)).toEqual(newest(7, 7));
  const status = await readFile(`/proc/${service.pid}/status`, 'utf8');
  const peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? Infinity) * 1024;
  expect(peak).toBeLessThan(MAX_RSS);
});
