import { describe, expect, it } from 'vitest';
import { auditOf } from '../support/audit.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { expectRefused, versionsIn } from '../support/matchers.js';
import { aPublication } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const FULL = 'could not extend file "base/5/16384": No space left on device';

const service = aService({ mode: 'full' })
  .source('tools', { servers: [aServer('io.acme/tool')] })
  .source('made', { kind: 'managed' })
  .registry('main', { sources: ['tools', 'made'] })
  .runs();
const sigrid = () => service.as(SUPER_ADMIN);
const list = () => sigrid().get('/registry/main/v0.1/servers');

/** Makes each insert into the table fail as on a full disk, until the returned function is called. */
async function fillDisk(table: string): Promise<() => Promise<unknown>> {
  await service.database.query(
    `create or replace function no_space() returns trigger language plpgsql as
     $$ begin raise exception using errcode = '53100', message = '${FULL}'; end $$`,
  );
  await service.database.query(
    `create trigger no_space before insert on ${table} for each row execute function no_space()`,
  );
  return () => service.database.query(`drop trigger no_space on ${table}`);
}

describe('while the disk of PostgreSQL is full', () => {
  it('a change gets 503 storage_full, and reads continue', async () => {
    const free = await fillDisk('entry_version');
    const publication = aPublication('server', 'io.acme/new', {});
    const refused = await sigrid().post('/v1/entries', publication);
    expectRefused(refused, 503, 'storage_full');
    expect(refused.headers['retry-after']).toBe('2');
    expect(versionsIn(await list())).toEqual(['io.acme/tool@1.0.0']);
    await free();
    expect((await sigrid().post('/v1/entries', publication)).status).toBe(201);
    expect(versionsIn(await list())).toEqual(['io.acme/new@1.0.0', 'io.acme/tool@1.0.0']);
  });

  it('a sync fails with that reason, and the next one succeeds', async () => {
    const free = await fillDisk('entry_version');
    await service.rewrite('tools', { servers: [aServer('io.acme/tool', '2.0.0')] });
    expect(await service.synced('tools')).toMatchObject({
      status: 'failed',
      error: 'The entries could not be stored: the disk of PostgreSQL is full or read-only',
    });
    expect(versionsIn(await list())).toContain('io.acme/tool@1.0.0');
    await free();
    expect((await service.synced('tools')).status).toBe('complete');
    expect(versionsIn(await list())).toContain('io.acme/tool@2.0.0');
  });

  it('a start that changes nothing succeeds, and another one fails with that reason', async () => {
    const free = await fillDisk('audit_event');
    await service.restart();
    const refused = await service
      .restart((edited) => edited.registry('other', { sources: ['tools'] }))
      .catch(String);
    await free();
    expect(refused).toMatch(
      /The database "t_\w+" at .* has a full or read-only disk \(.*No space left on device\)/,
    );
    await service.restart();
  });

  it('audit events of refusals wait instead of being lost', async () => {
    const free = await fillDisk('audit_event');
    const refused = await service.as({ sub: 'eve' }).get('/v1/audit');
    expectRefused(refused, 403, 'role_required');
    await new Promise((resolve) => setTimeout(resolve, 500));
    await free();
    await within(20_000, async () => {
      const ids = (await auditOf(sigrid())).map(({ requestId }) => requestId);
      expect(ids).toContain(refused.headers['x-request-id']);
    });
  });
});
