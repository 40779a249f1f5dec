import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { request, type ClientRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { UnpackedFiles, unpackArchive } from '../../dist/content/archive.js';
import { aSkillFile, aTarGz, aZip, type ZipEntry } from '../support/archives.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aSkill } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import { aName, entryAt } from '../support/publishing.js';
import { demandRevisions } from '../support/revisions.js';
import { aService } from '../support/service.js';
import { acceptSlowRequests } from '../support/slow-requests.js';
import { waitingStatements } from '../support/waiting-statements.js';

const KIB = 1024;

// Other tests store content at the same time.
process.env['TMPDIR'] = await mkdtemp(join(tmpdir(), 'content-spec-'));

acceptSlowRequests();
const service = aService({ mode: 'full' })
  .source('published', {
    kind: 'managed',
    settings: {
      names: [{ include: ['io.red/*'], claims: { team: 'red' } }],
      review: [{ names: ['io.reviewed/*'], reviewers: { team: 'review' } }],
    },
  })
  .registry('main', { sources: ['published'], claims: { org: 'acme' } })
  .configuration({ content: { maxBytesPerVersion: '300KiB', maxBytes: '500KiB' }, audit: { reads: true } })
  .runs();
demandRevisions(service);

const writer = (team: string) => service.as({ sub: team, role: 'writer', org: 'acme', team });
const reader = (team: string) => service.as({ sub: `${team}-reader`, org: 'acme', team });
const admin = () => service.as({ ...SUPER_ADMIN, org: 'acme' });

async function publish(name: string, team = 'blue', version = '1.0.0', more = {}): Promise<void> {
  const skill = { ...aSkill(name, version), ...more };
  expect((await writer(team).post('/v1/entries', { skill, claims: { org: 'acme', team } })).status).toBe(201);
}

/** A zip of a valid skill. */
function archiveOf(name: string, ...more: ZipEntry[]): Buffer {
  const short = name.split('/')[1] ?? '';
  return aZip([{ name: 'SKILL.md', data: aSkillFile(short, `The skill ${name}`) }, ...more]);
}

const at = (name: string, version = '1.0.0') => entryAt('skill', name, `/versions/${version}/content`);
const upload = (sender: ReturnType<typeof writer>, name: string, body: Buffer, type = 'application/zip') =>
  sender.send('PUT', at(name), { body, headers: { 'Content-Type': type } });
const zipAt = (name: string, version = '1.0.0', registry = 'main') =>
  `/registry/${registry}/x/content/skill/${name}/${version}.zip`;

const filesAt = (name: string, version = '1.0.0') => zipAt(name, version).replace(/\.zip$/, '/files');

async function filesIn(zip: Buffer): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'zip-'));
  try {
    await writeFile(join(folder, 'zip'), zip);
    const unpacked = new UnpackedFiles(folder, 10_000 * KIB);
    await unpackArchive(join(folder, 'zip'), unpacked);
    return unpacked.finish().map(({ path, executable }) => `${path}${executable ? '*' : ''}`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const leftovers = async () =>
  (await readdir(tmpdir())).filter((name) => name.startsWith('registry-content-'));

it('an upload gets 503 storage_full while the server has no temporary folder', async () => {
  const name = aName();
  await publish(name);
  const { TMPDIR } = process.env;
  process.env['TMPDIR'] = join(tmpdir(), 'missing');
  try {
    expectRefused(await upload(writer('blue'), name, archiveOf(name)), 503, 'storage_full');
  } finally {
    process.env['TMPDIR'] = TMPDIR;
  }
  expect((await upload(writer('blue'), name, archiveOf(name))).status).toBeLessThan(300);
});

describe('the content of a version', () => {
  it('is stored once, served as a zip file with an ETag, and never changes', async () => {
    const name = aName();
    await publish(name);
    const missing = await reader('blue').get(zipAt(name));
    expectRefused(missing, 404, 'version_not_found');
    const archive = archiveOf(name, { name: 'scripts/run.sh', data: 'run', mode: 0o100755 });
    expect((await upload(writer('blue'), name, archive)).status).toBe(204);
    expectRefused(await upload(writer('blue'), name, archive), 409, 'content_exists');
    const first = await reader('blue').get(zipAt(name));
    expect(first).toMatchObject({ status: 200 });
    expect(first.headers['content-type']).toBe('application/zip');
    const etag = String(first.headers['etag']);
    expect(etag).toMatch(/^"[0-9a-f]{64}"$/);
    expect(await filesIn(first.bytes)).toEqual(['SKILL.md', 'scripts/run.sh*']);
    const again = await reader('blue').get(zipAt(name, 'latest'));
    expect(again.bytes.equals(first.bytes)).toBe(true);
    const fresh = await reader('blue').send('GET', zipAt(name), { headers: { 'If-None-Match': etag } });
    expect(fresh.status).toBe(304);
    await expect.poll(leftovers).toEqual([]);
  });

  it('does not delay changes to blocks while it is stored', async () => {
    const name = aName();
    await publish(name);
    const holder = new pg.Client(service.database.connection);
    await holder.connect();
    await holder.query('begin; lock table content_blob in access exclusive mode');
    const uploading = upload(writer('blue'), name, archiveOf(name));
    try {
      await expect.poll(() => waitingStatements(service.database)).toBe(1);
      // Changes to blocks wait for shared advisory locks, which publications hold.
      const held = await service.database.query(
        `select from pg_locks where locktype = 'advisory' and mode = 'ShareLock' and granted
         and database = (select oid from pg_database where datname = current_database())`,
      );
      expect(held).toEqual([]);
    } finally {
      await holder.end();
      await uploading;
    }
  });

  it('can also be uploaded as tar.gz with a top folder', async () => {
    const name = aName();
    await publish(name);
    const data = aSkillFile(name.split('/')[1] ?? '', `The skill ${name}`);
    const archive = await aTarGz([{ name: 'skill-1.0.0/SKILL.md', data }]);
    expect((await upload(writer('blue'), name, archive, 'application/gzip')).status).toBe(204);
    expect(await filesIn((await reader('blue').get(zipAt(name))).bytes)).toEqual(['SKILL.md']);
  });

  it.each([
    ['as a zip file', zipAt],
    ['as a list', filesAt],
  ])('%s is refused, like the document, to everyone who does not see it', async (_what, at) => {
    const name = aName();
    await publish(name);
    await upload(writer('blue'), name, archiveOf(name));
    const withoutId = ({ text }: { text: string }) => text.replace(/"requestId":"[^"]*"/, '');
    const hidden = await reader('green').get(at(name));
    const absent = await reader('green').get(at('io.acme/absent'));
    expectRefused(hidden, 404, 'entry_not_found');
    expect(withoutId(hidden)).toBe(withoutId(absent));
    expectRefused(await service.as({ sub: 'x' }).get(at(name)), 403, 'registry_forbidden');
    expectRefused(await service.get(at(name)), 401, 'token_missing');
    expectRefused(await reader('blue').get(at(name, '2.0.0')), 404, 'version_not_found');
    expectRefused(await reader('blue').get(at(name).replace('/skill/', '/server/')), 404, 'entry_not_found');
    expect((await reader('blue').get(at(name))).status).toBe(200);
  });

  it('is refused once the version is deleted, hidden or removed', async () => {
    const name = aName();
    await publish(name);
    await upload(writer('blue'), name, archiveOf(name));
    await writer('blue').patch(entryAt('skill', name, '/status'), { status: 'deprecated' });
    expect((await reader('blue').get(zipAt(name))).status).toBe(200);
    await admin().put(entryAt('skill', name, '/claims'), { claims: { org: 'acme', team: 'green' } });
    expectRefused(await reader('blue').get(zipAt(name)), 404, 'entry_not_found');
    expect((await reader('green').get(zipAt(name))).status).toBe(200);
    await admin().delete(entryAt('skill', name, '/versions/1.0.0'));
    expectRefused(await reader('green').get(zipAt(name)), 404, 'entry_not_found');
  });

  it('is refused while a block holds the version, and comes back with it', async () => {
    const name = aName();
    await publish(name);
    await upload(writer('blue'), name, archiveOf(name));
    const before = await reader('blue').get(zipAt(name));
    const block = { names: [name], reason: 'SEC-1' };
    expect((await admin().put('/v1/blocks/sec', block)).status).toBe(201);
    expectRefused(await reader('blue').get(zipAt(name)), 404, 'entry_not_found');
    expectRefused(await upload(writer('blue'), name, archiveOf(name)), 404, 'entry_not_found');
    expect((await admin().delete('/v1/blocks/sec')).status).toBe(204);
    const after = await reader('blue').get(zipAt(name));
    expect(after.status).toBe(200);
    expect(after.bytes.equals(before.bytes)).toBe(true);
  });

  it('can be uploaded only by callers who may publish another version', async () => {
    const name = aName('io.red');
    const red = service.as({ sub: 'red', role: 'writer', org: 'acme', team: 'red' });
    await publish(name, 'red');
    expectRefused(await upload(writer('blue'), name, archiveOf(name)), 404, 'entry_not_found');
    expectRefused(await upload(reader('red'), name, archiveOf(name)), 403, 'role_required');
    expectRefused(await upload(red, aName('io.red'), archiveOf(name)), 404, 'entry_not_found');
    expect((await upload(red, name, archiveOf(name))).status).toBe(204);
  });

  it('of a name under review is uploaded by another reviewer', async () => {
    const name = aName('io.reviewed');
    const skill = aSkill(name);
    const held = await writer('blue').post('/v1/entries', { skill, claims: { org: 'acme' } });
    expect(held.status).toBe(202);
    const { admission } = held.json as { admission: { id: string } };
    expectRefused(await upload(writer('blue'), name, archiveOf(name)), 404, 'entry_not_found');
    const reviewer = service.as({ sub: 'reviewer', role: 'writer', org: 'acme', team: 'review' });
    const item = (await reviewer.get(`/v1/admission/${admission.id}`)).json as { digest: string };
    await reviewer.post(`/v1/admission/${admission.id}/approve`, { digest: item.digest });
    expectRefused(await upload(writer('blue'), name, archiveOf(name)), 403, 'own_publication');
    const colleague = service.as({ sub: 'colleague', role: 'writer', org: 'acme', team: 'blue' });
    expectRefused(await upload(colleague, name, archiveOf(name)), 403, 'not_reviewer');
    expect((await upload(reviewer, name, archiveOf(name))).status).toBe(204);
  });

  it.each([
    ['without SKILL.md', () => aZip([{ name: 'README.md' }]), /SKILL\.md: is missing/],
    ['without frontmatter', () => aZip([{ name: 'SKILL.md', data: '# x' }]), /frontmatter/],
    ['with broken frontmatter', () => aZip([{ name: 'SKILL.md', data: '---\n: [\n---\n' }]), /valid YAML/],
    [
      'with another name',
      (name: string) => aZip([{ name: 'SKILL.md', data: aSkillFile('other', `The skill ${name}`) }]),
      /name: must equal/,
    ],
    [
      'with another description',
      (name: string) => aZip([{ name: 'SKILL.md', data: aSkillFile(name.split('/')[1] ?? '', 'Another') }]),
      /description: must equal/,
    ],
    ['with a parent path', (name: string) => archiveOf(name, { name: '../evil' }), /segment/],
  ])('%s is refused, and nothing is left behind', async (_what, archive, problem) => {
    const name = aName();
    await publish(name);
    const refused = await upload(writer('blue'), name, archive(name));
    expectRefused(refused, 400, 'invalid_archive');
    expect(refused.text).toMatch(problem);
    await expect.poll(leftovers).toEqual([]);
    expect(
      await service.database.query(
        `select 1 from version_content c join entry_version v on v.id = c.version_id
      join entry e on e.id = v.entry_id where e.name = $1`,
        [name],
      ),
    ).toEqual([]);
  });

  it('is refused beyond its limits and with another media type', async () => {
    const name = aName();
    await publish(name);
    const large = archiveOf(name, { name: 'a', data: Buffer.alloc(300 * KIB) });
    expectRefused(await upload(writer('blue'), name, large), 413, 'content_too_large');
    const body = randomBytes(1_400 * KIB);
    expectRefused(await upload(writer('blue'), name, body), 413, 'content_too_large');
    expectRefused(
      await upload(writer('blue'), name, archiveOf(name), 'application/json'),
      415,
      'unsupported_media_type',
    );
    const [one, other] = [aName(), aName()];
    await publish(one);
    await publish(other);
    const big = (of: string) => archiveOf(of, { name: 'a', data: randomBytes(290 * KIB), method: 0 });
    expect((await upload(writer('blue'), one, big(one))).status).toBe(204);
    expectRefused(await upload(writer('blue'), other, big(other)), 507, 'content_full');
    expect((await upload(writer('blue'), other, archiveOf(other))).status).toBe(204);
  });

  it('allows two concurrent uploads per caller and eight in total, with a reserve for two more callers', async () => {
    const name = aName();
    await publish(name);
    const archive = archiveOf(name);
    const uploader = (sub: string) => ({ sub, role: 'writer', org: 'acme', team: 'blue' });
    const begin = (sub: string) => {
      const sent = request(`${service.origin}${at(name)}`, {
        method: 'PUT',
        headers: {
          'Content-Type': 'application/zip',
          'Content-Length': archive.length,
          Authorization: `Bearer ${service.issuer.sign(uploader(sub))}`,
        },
      });
      sent.on('error', () => undefined);
      sent.write(archive.subarray(0, 10));
      return sent;
    };
    const uploads: ClientRequest[] = [];
    const beginTogether = async (subs: readonly string[]) => {
      uploads.push(...subs.map(begin));
      await expect.poll(async () => (await leftovers()).length).toBe(uploads.length);
    };
    const uploadBy = (sub: string) => upload(service.as(uploader(sub)), name, archive);

    await beginTogether(['blue', 'blue']);
    expectRefused(await uploadBy('blue'), 429, 'too_many_requests');
    await beginTogether(['b', 'b', 'c', 'c', 'd', 'd']);
    await beginTogether(['e']);
    expectRefused(await uploadBy('e'), 503, 'overloaded');
    await beginTogether(['f']);
    expectRefused(await uploadBy('g'), 503, 'overloaded');
    for (const sent of uploads) sent.destroy();
    await expect.poll(leftovers).toEqual([]);
    expect((await uploadBy('g')).status).toBe(204);
  });

  it('is audited when it is stored, and with audit.reads when it is read', async () => {
    const name = aName();
    await publish(name);
    await upload(writer('blue'), name, archiveOf(name));
    await reader('blue').get(zipAt(name));
    const events = async () => {
      const { json } = await admin().get(`/v1/audit?target=${encodeURIComponent(name)}`);
      return (json as { events: { action: string; target: { version?: string } }[] }).events.map(
        ({ action, target }) => `${action}@${target.version}`,
      );
    };
    await expect.poll(events).toEqual(['content.read@1.0.0', 'entry.content@1.0.0', 'entry.publish@1.0.0']);
  });
});
