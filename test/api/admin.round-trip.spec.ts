import { describe, expect, it } from 'vitest';
import { ACME_ADMIN } from '../support/callers.js';
import { aServer, type Document } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

describe('a PUT with the body of the GET', () => {
  const folder = aFolder();
  const path = folder.catalogue('made', [aServer('io.acme/made')]);
  const hour = { syncPolicy: { interval: '1h' }, claims: { org: 'acme' } };
  const BODIES: Record<string, Document> = {
    '/v1/sources/file': { file: { path }, ...hour },
    '/v1/sources/url': {
      file: { url: 'http://127.0.0.1:9/x.json' },
      allowShrink: true,
      admission: { minAge: '3d', rules: [{ names: ['io.*'], action: 'hold' }] },
      ...hour,
    },
    '/v1/sources/git': {
      git: { repository: 'https://git.example.com/x.git', branch: 'main', path: 'a/b.json' },
      filter: { names: { include: ['io.*'], exclude: [] }, tags: { exclude: ['old'] } },
      ...hour,
    },
    '/v1/sources/api': { api: { endpoint: 'https://registry.example.com', timeout: '5s' }, ...hour },
    '/v1/sources/managed': { managed: { names: [{ include: ['io.acme/*'], claims: { org: 'acme' } }] } },
    '/v1/sources/kubernetes': { kubernetes: { namespaces: ['tools'] }, claims: { org: 'acme' } },
    '/v1/registries/made': { sources: ['file', 'tools'], claims: { org: 'acme' } },
  };
  const PATHS = Object.keys(BODIES);
  const service = aService({ mode: 'full' })
    .source('tools', { servers: [aServer('io.acme/a')], claims: { org: 'acme' } })
    .registry('tools', { sources: ['tools'] })
    .configuration({ adminFileRoot: folder.path, adminKubernetesNamespaces: ['tools'] })
    .runs();
  const admin = () => service.as(ACME_ADMIN);
  const made = async (at: string) => {
    for (const needed of at.startsWith('/v1/registries') ? ['/v1/sources/file', at] : [at])
      expect((await admin().put(needed, BODIES[needed])).status).toBeOneOf([200, 201]);
    const reply = await admin().get(at);
    return { body: reply.json as Document, etag: String(reply.headers['etag']) };
  };

  it.each(PATHS)('is accepted for %s', async (at) => {
    const { body, etag } = await made(at);
    expect(body).toMatchObject(BODIES[at] ?? {});
    const [, , list = '', name] = at.split('/');
    const listed = (await admin().get(`/v1/${list}?search=${name}`)).json as Record<string, Document[]>;
    expect(listed[list]?.find((each) => each['name'] === name)).toMatchObject(BODIES[at] ?? {});
    const again = await admin().put(at, body, { 'If-Match': etag });
    expect({ status: again.status, body: again.json as unknown }).toMatchObject({
      status: 200,
      body: { name: body['name'], createdAt: body['createdAt'], updatedAt: body['updatedAt'] },
    });
    const changed = await admin().put(at, { ...body, claims: { org: 'acme', team: undefined } });
    expect(changed.status).toBe(200);
  });

  it.each(PATHS)('is refused when read-only members of %s differ, with their names', async (at) => {
    const { body } = await made(at);
    const others = { name: 'other', origin: 'config', createdAt: '2020-01-01T00:00:00.000Z', updatedAt: 1 };
    for (const [member, value] of Object.entries(others)) {
      const reply = await admin().put(at, { ...body, [member]: value });
      expectRefused(reply, 400, 'invalid_body');
      expect(reply.json).toMatchObject({
        details: [expect.stringMatching(`^${member}: cannot be changed: it is `)],
      });
    }
    expect((await admin().get(at)).json).toMatchObject({ updatedAt: body['updatedAt'] });
  });

  it('covers every setting of a source', async () => {
    const { components } = (await service.get('/openapi.json')).json as {
      components: { schemas: Record<string, { properties: object }> };
    };
    const settings = new Set(
      PATHS.filter((at) => at.startsWith('/v1/sources/')).flatMap((at) => Object.keys(BODIES[at] ?? {})),
    );
    expect([...settings].sort()).toEqual(
      Object.keys(components.schemas['SourceSettings']?.properties ?? {}).sort(),
    );
  });

  it('ignores `sync`', async () => {
    const { body } = await made('/v1/sources/file');
    for (const sync of [body['sync'], { status: 'x' }, null, 1])
      expect((await admin().put('/v1/sources/file', { ...body, sync })).status).toBe(200);
  });

  it('creates a resource with its `name` and `kind`, and refuses other read-only members', async () => {
    const settings = BODIES['/v1/sources/file'];
    const at = '/v1/sources/new';
    for (const more of [{ kind: 'git' }, { name: 'other' }, { origin: 'api' }, { createdAt: 'x' }])
      expectRefused(await admin().put(at, { ...settings, ...more }), 400, 'invalid_body');
    expect((await admin().get(at)).status).toBe(404);
    expect((await admin().put(at, { ...settings, name: 'new', kind: 'file' })).status).toBe(201);
    expectRefused(
      await admin().put('/v1/registries/new', { sources: ['new'], origin: 'api' }),
      400,
      'invalid_body',
    );
    expect((await admin().put('/v1/registries/new', { name: 'new', sources: ['new'] })).status).toBe(201);
  });
});
