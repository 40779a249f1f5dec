import { type Skill, SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventsOf } from '../support/audit.js';
import { ACME_DATA, ACME_PLATFORM, ACME_WRITER, SUPER_ADMIN } from '../support/callers.js';
import { aSkill } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import { mcpClient, modernClient, modernRequest } from '../support/mcp.js';
import { aService } from '../support/service.js';
import { type Files, storeContent, storeSkills } from '../support/stored-content.js';

const ACME = { org: 'acme' };
const PLATFORM = { org: 'acme', team: 'platform' };

const service = aService({ mode: 'full' })
  .source('published', { kind: 'managed' })
  .source('team', { claims: PLATFORM, skills: [aSkill('io.acme/roll-out')] })
  .source('acme', {
    claims: ACME,
    skills: ['greet', 'empty', 'broken', 'large', 'book', 'long', 'longest'].map((name) =>
      aSkill(`io.acme/${name}`),
    ),
  })
  .registry('main', { sources: ['published', 'team', 'acme'], claims: ACME })
  .configuration({ audit: { reads: true } })
  .runs();

const manifest = (name: string, more = '') =>
  `---\nname: ${name}\ndescription: The skill io.acme/${name}\n${more}---\nText`;
const BINARY = Buffer.from([0xff, 0x00, 0xfe]);
const GREET: Files = {
  'SKILL.md': manifest('greet', 'license: MIT\nmetadata: { since: 2020-01-01, version: "1.10" }\n'),
  'references/A b.md': '\uFEFFGuide ü',
  'data.bin': BINARY,
  // Encoded in several slices that split characters.
  'long.md': `x${'ü€😀"\\\n'.repeat(60_000)}`,
  'long.bin': Buffer.alloc(1_000_001, 0xfe),
  // It would have six times as many bytes as JSON text.
  'control.txt': '\u0001'.repeat(1_000_000),
};
const store = (name: string, files: Files, version = '1.0.0') =>
  storeContent(service, 'skill', `io.acme/${name}`, version, files);

beforeAll(async () => {
  await store('greet', GREET);
  await store('roll-out', { 'SKILL.md': manifest('roll-out') });
  await store('broken', { 'SKILL.md': manifest('other-name') });
  await store('book', {
    'SKILL.md': manifest('book'),
    'book.md': BOOK,
    'longest.bin': Buffer.alloc(4 * 1_024 * 1_024, 0xfe),
    'too-long.bin': Buffer.alloc(4 * 1_024 * 1_024 + 1, 0xfe),
  });
  await store('longest', { 'SKILL.md': manifest('longest').padEnd(256 * 1_024) });
  await store('long', { 'SKILL.md': manifest('long').padEnd(256 * 1_024 + 1) });
  await store('large', {
    'SKILL.md': manifest('large'),
    ...Object.fromEntries(Array.from({ length: 512 }, (_, index) => [`f${index}`, 'x'])),
  });
});

/** Exceeds the length that is sent as text. */
const BOOK = '"€\\\n'.repeat(200_000);

type Negotiation = Parameters<typeof modernClient>[2];
const ERAS: readonly { readonly protocol: string; readonly negotiation: Negotiation }[] = [
  { protocol: '2025-11-25', negotiation: undefined },
  { protocol: '2026-07-28', negotiation: { mode: 'auto' } },
];
async function clientFor(claims: Record<string, unknown>, negotiation: Negotiation) {
  const url = `${service.origin}/registry/main/mcp`;
  const client = await modernClient(url, service.issuer.sign(claims), negotiation);
  return Object.assign(new SkillsClient(client), { client });
}
const urisOf = (skills: readonly Skill[]) => skills.map(({ uri }) => uri);
const GREET_URI = 'skill://io.acme/greet/SKILL.md';
const ROLL_OUT_URI = 'skill://io.acme/roll-out/SKILL.md';

describe.each(ERAS)('the skills extension in protocol $protocol', ({ negotiation }) => {
  const connect = (claims: Record<string, unknown>) => clientFor(claims, negotiation);
  it('lists visible skills with content; the client verifies them', async () => {
    const data = await connect(ACME_DATA);
    expect(data.supported).toBe(true);
    const others = ['book', 'longest'].map((name) => `skill://io.acme/${name}/SKILL.md`);
    expect(urisOf((await data.list()).skills)).toEqual([others[0], GREET_URI, others[1]]);
    const platform = await connect(ACME_PLATFORM);
    expect(urisOf((await platform.list()).skills)).toEqual([others[0], GREET_URI, others[1], ROLL_OUT_URI]);
    const { resources } = await platform.client.listResources();
    expect(resources.map(({ uri, name }) => `${name} ${uri}`)).toEqual([
      `book ${others[0]}`,
      `greet ${GREET_URI}`,
      `longest ${others[1]}`,
      `roll-out ${ROLL_OUT_URI}`,
    ]);
  });

  it('returns each file with the digest and size of its entry', async () => {
    const skills = await connect(ACME_DATA);
    const { skill, ...hints } = await skills.get(GREET_URI);
    expect(skill.frontmatter).toMatchObject({
      name: 'greet',
      license: 'MIT',
      metadata: { since: '2020-01-01' },
    });
    expect(hints).toEqual(negotiation ? { ttlMs: 0, cacheScope: 'private' } : {});
    for (const [path, content] of Object.entries(GREET)) {
      const file = await skills.read(skill, path);
      // Vitest would take seconds to compare megabytes.
      const isSame = Buffer.from(content).equals(file.bytes);
      expect({ path, verified: file.verified, isSame }).toEqual({ path, verified: true, isSame: true });
    }
    expect((await skills.read(skill)).mimeType).toBe('text/markdown');
  });

  it('responds the same for hidden and missing skills and files', async () => {
    const { client } = await connect(ACME_DATA);
    const errorOf = async (uri: string) => {
      const error = await client.readResource({ uri }).then(
        () => ({}),
        ({ code, message }: { code: unknown; message: string }) => ({
          code,
          message: message.replace(uri, 'URI'),
        }),
      );
      const get = await new SkillsClient(client).get(uri).then(String, String);
      return { error, get: get.replaceAll(uri, 'URI') };
    };
    const missing = await errorOf('skill://io.acme/nothing/SKILL.md');
    expect(missing.error).toHaveProperty('code');
    expect(missing.get).toContain('There is no such skill');
    for (const uri of [
      ROLL_OUT_URI,
      'skill://io.acme/empty/SKILL.md',
      'skill://io.acme/broken/SKILL.md',
      'skill://io.acme/large/SKILL.md',
      'skill://io.acme/long/SKILL.md',
    ])
      expect(await errorOf(uri), uri).toEqual(missing);
    for (const uri of [
      'skill://io.acme/greet/none.md',
      'skill://io.acme/greet/%zz',
      'file:///etc/passwd',
      'skill://x\0/y/z',
    ])
      expect((await errorOf(uri)).error, uri).toEqual(missing.error);
  });
});

describe('skills over MCP', () => {
  const readAs = (sub: string, path: string) => {
    const uri = `skill://io.acme/book/${path}`;
    const { headers, body } = modernRequest('resources/read', { uri });
    return service
      .as({ ...ACME_DATA, sub })
      .post('/registry/main/mcp', body, { ...headers, 'Mcp-Name': uri });
  };

  it('send long texts as blobs, to several callers in turn', async () => {
    const readers = Array.from({ length: 6 }, (_, index) => `reader-${index}`);
    const replies = await Promise.all(readers.map((sub) => readAs(sub, 'book.md')));
    for (const { status, json } of replies) {
      const { result } = json as { result: { contents: { blob: string; mimeType: string }[] } };
      const [content] = result.contents;
      const isSame = Buffer.from(content?.blob ?? '', 'base64').equals(Buffer.from(BOOK));
      expect({ status, mimeType: content?.mimeType, isSame }).toEqual({
        status: 200,
        mimeType: 'text/markdown',
        isSame: true,
      });
    }
  });

  it('are read up to 4 MiB', async () => {
    expect((await readAs('reader', 'longest.bin')).status).toBe(200);
    expectRefused(await readAs('reader', 'too-long.bin'), 413, 'content_too_large');
  });

  it('are private to the caller in 2026-07-28, and never cached by HTTP', async () => {
    for (const [method, params] of [
      ['skills/list', {}],
      ['skills/get', { uri: GREET_URI }],
      ['resources/read', { uri: GREET_URI }],
      ['resources/list', {}],
    ] as const) {
      const { headers, body } = modernRequest(method, params);
      const named = 'uri' in params ? { 'Mcp-Name': params.uri } : {};
      const reply = await service.as(ACME_DATA).post('/registry/main/mcp', body, { ...headers, ...named });
      expect(reply.json, method).toMatchObject({
        result: { cacheScope: 'private', ttlMs: 0, resultType: 'complete' },
      });
      expect(reply.headers['cache-control']).toBe('no-store');
    }
  });

  it('have the files of the latest version, even for clients without the extension', async () => {
    const client = await mcpClient(`${service.origin}/registry/main/mcp`, service.issuer.sign(ACME_WRITER));
    const read = async () => {
      const { contents } = await client.readResource({ uri: 'skill://io.acme/tool/SKILL.md' });
      return contents.map((content) => ('text' in content ? content.text : ''));
    };
    for (const version of ['1.0.0', '2.0.0']) {
      const skill = aSkill('io.acme/tool', version);
      await service.as(ACME_WRITER).post('/v1/entries', { skill, claims: PLATFORM });
      await expect(read()).rejects.toThrow();
      await store('tool', { 'SKILL.md': manifest('tool', `license: ${version}\n`) }, version);
      expect(await read()).toEqual([manifest('tool', `license: ${version}\n`)]);
    }
    await client.close();
  });

  it('come in pages', async () => {
    const names = Array.from({ length: 51 }, (_, index) => `page-${String(index).padStart(2, '0')}`);
    for (const name of names)
      await service
        .as(ACME_WRITER)
        .post('/v1/entries', { skill: aSkill(`io.acme/${name}`), claims: PLATFORM });
    await storeSkills(
      service,
      new Map(names.map((name) => [`io.acme/${name}`, { 'SKILL.md': manifest(name) }])),
    );
    const { client } = await clientFor(ACME_PLATFORM, { mode: 'auto' });
    const skills = new SkillsClient(client);
    expect(urisOf((await skills.list()).skills).filter((uri) => uri.includes('/page-'))).toHaveLength(51);
    const first = await client.listResources();
    expect(first.resources.length).toBeGreaterThan(51);
    const { body, headers } = modernRequest('skills/list');
    const page = await service.as(ACME_PLATFORM).post('/registry/main/mcp', body, headers);
    expect((page.json as { result: { skills: unknown[] } }).result.skills.length).toBeLessThanOrEqual(50);
  });

  it('are audited with the skill that was read', async () => {
    const { headers, body } = modernRequest('resources/read', { uri: GREET_URI });
    const named = { ...headers, 'Mcp-Name': GREET_URI };
    const reply = await service.as(ACME_DATA).post('/registry/main/mcp', body, named);
    const events = await eventsOf(service.as(SUPER_ADMIN), reply);
    expect(events.map(({ target }) => target)).toEqual([
      { type: 'skill', name: 'io.acme/greet', registry: 'main' },
    ]);
  });
});
