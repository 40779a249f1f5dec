import { describe, expect, it } from 'vitest';
import { auditCursorIn, auditOf, eventsIn, eventsOf, linesIn } from '../support/audit.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { anIssuer } from '../support/issuer.js';
import { aName, aPublication, entryAt } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const other = anIssuer().runs();
const service = aService({
  mode: 'full',
  providers: ({ issuer }) => [
    { name: 'corporate', issuerUrl: issuer.iss, audience: 'registry', allowPrivateIP: true },
    {
      name: 'named',
      issuerUrl: other.iss,
      audience: 'registry',
      introspectionUrl: other.introspectionUrl,
      allowPrivateIP: true,
      displayName: 'preferred_username',
      claims: [
        { from: '/org', to: 'org' },
        { from: '/role', to: 'role' },
      ],
    },
  ],
})
  .source('published', { kind: 'managed' })
  .registry('main', { sources: ['published'], claims: { org: 'acme' } })
  .runs();
const sigrid = () => service.as(SUPER_ADMIN);
const person = (sub: string, preferred_username: unknown, more = {}) =>
  service.bearing(other.sign({ sub, preferred_username, org: 'acme', role: 'writer', ...more }));
const publish = (sender: ReturnType<typeof person>, name = aName()) =>
  sender.post('/v1/entries', aPublication('server', name, { org: 'acme' }));

describe('displayName', () => {
  it('is returned by GET /v1/me for a JWT and an opaque token', async () => {
    const claims = { sub: '1fb57c10', preferred_username: 'Ann Łoś' };
    for (const token of [other.sign(claims), other.opaque(claims)])
      expect((await service.bearing(token).get('/v1/me')).json).toEqual({
        subject: '1fb57c10',
        name: 'Ann Łoś',
        roles: [],
      });
  });

  it.each([undefined, '', 'x'.repeat(201), 'a\u202eb', 'a\u200bb', 'a\nb', 7, ['Ann']])(
    'is absent for %j',
    async (name) => {
      const reply = await person('1fb57c10', name).get('/v1/me');
      expect(reply.json).toEqual({ subject: '1fb57c10', roles: ['manageEntries'] });
    },
  );

  it('is absent if the provider configures no claim', async () => {
    expect((await service.as({ preferred_username: 'Ann' }).get('/v1/me')).json).not.toHaveProperty('name');
  });

  it('does not affect access', async () => {
    const gate = (sender: typeof service | ReturnType<typeof person>) =>
      sender.get('/registry/main/v0.1/servers');
    expect((await gate(person('a', 'acme', { org: undefined }))).status).toBe(403);
    expect((await gate(person('a', 'contoso'))).status).toBe(200);
    const me = await person('a', 'super-admin').get('/v1/me?claims=true');
    expect(me.json).toMatchObject({ roles: ['manageEntries'], claims: { sub: 'a', org: 'acme' } });
    expect((me.json as { claims: object }).claims).not.toHaveProperty('preferred_username');
  });

  it('is shown for publishers in the admin API, and never in the consumer API', async () => {
    const name = aName();
    expect((await publish(person('77c1', 'Paula Publisher'), name)).status).toBe(201);
    const by = { subject: '77c1', issuer: other.iss, name: 'Paula Publisher' };
    expect((await sigrid().get(entryAt('server', name))).json).toMatchObject({
      versions: [{ publishedBy: by }],
    });
    const version = await sigrid().get(entryAt('server', name, '/versions/1.0.0'));
    expect(version.json).toMatchObject({ publishedBy: by });
    const listed = await person('77c1', 'Paula Publisher').get('/registry/main/v0.1/servers');
    expect(listed.text).toContain(name);
    expect(listed.text).not.toContain('Paula');
  });

  it('is shown for actors in audit events and in the log', async () => {
    const reply = await publish(person('77c2', 'Nora Named'));
    expect((await eventsOf(sigrid(), reply))[0]?.actor).toEqual({
      subject: '77c2',
      issuer: other.iss,
      name: 'Nora Named',
      roles: ['manageEntries'],
    });
    await within(20_000, async () => {
      const lines = service.logs().filter(({ requestId }) => requestId === reply.headers['x-request-id']);
      expect(lines).toMatchObject(
        expect.arrayContaining([
          expect.objectContaining({ msg: 'request', subject: '77c2', displayName: 'Nora Named' }),
          expect.objectContaining({
            msg: 'Audit event',
            actor: expect.objectContaining({ name: 'Nora Named' }),
          }),
        ]),
      );
    });
  });
});

describe('GET /v1/audit', () => {
  it('finds subjects and names by actor, and only subjects by subject', async () => {
    // The subject of one is the name of the other.
    for (const sender of [person('sam', 'Sam Sender'), person('id-of-eve', 'sam'), person('sam', 'sam')])
      expect((await publish(sender)).status).toBe(201);
    const found = async (query: string) =>
      (await auditOf(sigrid(), query)).map(({ actor }) => `${actor.subject}/${actor.name}`);
    expect(await found('actor=sam')).toEqual(['sam/sam', 'id-of-eve/sam', 'sam/Sam Sender']);
    expect(await found('subject=sam')).toEqual(['sam/sam', 'sam/Sam Sender']);
    expect(await found('actor=Sam%20Sender')).toEqual(['sam/Sam Sender']);
    expect(await found('subject=Sam%20Sender')).toEqual([]);
    expect(await found('actor=sam&subject=id-of-eve')).toEqual(['id-of-eve/sam']);
    expect(await found('actor=sam&action=entry.delete')).toEqual([]);
  });

  it('pages through both kinds in order, even for managers', async () => {
    for (const reader of [sigrid(), person('m', 'M')]) {
      const whole = await auditOf(reader, 'actor=sam');
      expect(whole).toHaveLength(3);
      expect(linesIn(await reader.get('/v1/audit?actor=sam', { Accept: 'application/x-ndjson' }))).toEqual(
        whole,
      );
      const first = await reader.get('/v1/audit?actor=sam&limit=2');
      const rest = await reader.get(`/v1/audit?cursor=${auditCursorIn(first)}`);
      expect([...eventsIn(first), ...eventsIn(rest)]).toEqual(whole);
      const one = await reader.get('/v1/audit?subject=sam&limit=1');
      const other = await reader.get(`/v1/audit?cursor=${auditCursorIn(one)}&limit=9`);
      expect(eventsIn(other).map(({ actor }) => actor.subject)).toEqual(['sam']);
    }
  });
});
