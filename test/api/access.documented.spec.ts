import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { aServer } from '../support/documents.js';
import { aService } from '../support/service.js';

const TEXT = readFileSync('docs/explain.md', 'utf8');
const SERVERS: Record<string, string[]> = {
  team: ['io.acme/mail', 'io.acme/deploy'],
  catalog: ['io.acme/mail'],
};
const PUBLISHED = { org: 'acme', team: ['platform', 'data'] };

interface Configuration {
  auth: { authz: { roles: Record<string, object[]> } };
  sources: { name: string; managed?: object; claims: object }[];
  registries: { name: string; sources: string[]; claims: object }[];
}
const [configuration = ''] = blocksOf('yaml');
const { auth, sources, registries } = parse(configuration) as Configuration;
const service = aService({ mode: 'full', roles: auth.authz.roles });
for (const { name, managed, claims } of sources)
  service.source(
    name,
    managed
      ? { kind: 'managed', claims }
      : { claims, servers: (SERVERS[name] ?? []).map((each) => aServer(each)) },
  );
for (const { name, ...registry } of registries) service.registry(name, registry);
service.runs();

/** The page's questions, each with the last claims mentioned before it. */
const questions = TEXT.split(/^### /m)
  .slice(1)
  .reduce<{ title: string; claims: object; request: string; answer: string }[]>((parsed, section) => {
    const [title = ''] = section.split('\n');
    const [, named] = /`(\{"sub":.*?\})`/.exec(section) ?? [];
    const claims = named ? (JSON.parse(named) as object) : (parsed.at(-1)?.claims ?? {});
    const [, request = ''] = /```http\n(.*?)```/s.exec(section) ?? [];
    const [, answer = ''] = /```json\n(.*?)```/s.exec(section) ?? [];
    return [...parsed, { title, claims, request, answer }];
  }, []);

describe('the examples in docs/explain.md', () => {
  beforeAll(async () => {
    for (const name of Object.keys(SERVERS)) await service.synced(name);
    const writer = service.as({ ...PUBLISHED, role: 'writer' });
    const body = { server: aServer('io.acme/ledger'), claims: PUBLISHED };
    expect((await writer.post('/v1/entries', body)).status).toBe(201);
  });

  it('ask three questions', () => expect(questions).toHaveLength(3));

  it.each(questions)("match the server's response: $title", async ({ claims, request, answer }) => {
    const [, method = '', path = '', body = ''] = /^(\w+) (\S+)\n(.*)$/s.exec(request) ?? [];
    const sent = body.trim() === '' ? {} : { body: JSON.parse(body) as object };
    const reply = await service.as(claims as Record<string, unknown>).send(method, path, sent);
    expect(reply.json).toEqual(JSON.parse(answer));
  });
});

function blocksOf(language: string): string[] {
  return [...TEXT.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(
    ([, block]) => block ?? '',
  );
}
