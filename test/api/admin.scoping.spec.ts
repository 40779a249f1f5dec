import { beforeAll, describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import type { Headers, Reply } from '../support/http.js';
import { aService } from '../support/service.js';
import { expectOneClaimApart, SELECTED_PAIRS } from '../support/claims-pairs.js';

/** Adds the role that manages sources and registries; no pair uses this key. */
const admin = (claims: Record<string, unknown>) => ({ ...claims, role: 'admin' });

function namesIn(reply: Reply, noun: string): string[] {
  expect(reply.status).toBe(200);
  return (reply.json as Record<string, { name: string }[]>)[noun]?.map(({ name }) => name) ?? [];
}

const folder = aFolder();
const file = { path: folder.catalogue('made', [aServer('io.acme/made')]) };
const service = aService({ mode: 'full' })
  .source('plain', { servers: [aServer('io.acme/plain')] })
  .registry('plain', { sources: ['plain'] })
  .configuration({ adminFileRoot: folder.path })
  .runs();

describe.each([
  { noun: 'sources', notFound: '404 source_not_found' },
  { noun: 'registries', notFound: '404 registry_not_found' },
])('claims scope the admin API of $noun', ({ noun, notFound }) => {
  const settings = noun === 'sources' ? { file, syncPolicy: { interval: '1h' } } : { sources: ['plain'] };
  const pairs = noun === 'sources' ? SELECTED_PAIRS : SELECTED_PAIRS.slice(0, 3);
  const rows = pairs.map((pair, row) => ({
    ...pair,
    row,
    body: { ...settings, claims: pair.required },
  }));

  beforeAll(async () => {
    for (const { row, body } of rows)
      for (const fate of ['kept', 'changed', 'doomed'])
        await service.as(SUPER_ADMIN).put(`/v1/${noun}/${fate}-${row}`, body);
  });

  it.each(rows)('$rule: an admin with $covering sees $required', async ({ row, covering }) => {
    const caller = service.as(admin(covering));
    expect(outcomeOf(await caller.get(`/v1/${noun}/kept-${row}`))).toBe('200');
    expect(outcomeOf(await caller.get(`/v1/${noun}/kept-${row}/entries`))).toBe('200');
    expect(namesIn(await caller.get(`/v1/${noun}`), noun)).toContain(`kept-${row}`);
  });

  it.each(rows)(
    '$rule: an admin with $lacking gets 404 for $required',
    async ({ row, covering, lacking }) => {
      expectOneClaimApart(admin(covering), admin(lacking));
      const caller = service.as(admin(lacking));
      expect(outcomeOf(await caller.get(`/v1/${noun}/kept-${row}`))).toBe(notFound);
      expect(outcomeOf(await caller.get(`/v1/${noun}/kept-${row}/entries`))).toBe(notFound);
      expect(namesIn(await caller.get(`/v1/${noun}`), noun)).not.toContain(`kept-${row}`);
    },
  );

  it.each(rows)('$rule: an admin with $covering may create $required', async ({ row, body, covering }) => {
    const reply = await service.as(admin(covering)).put(`/v1/${noun}/made-${row}`, body);
    expect(outcomeOf(reply)).toBe('201');
    expect(outcomeOf(await service.as(admin(covering)).get(`/v1/${noun}/made-${row}`))).toBe('200');
  });

  it.each(rows)('$rule: an admin with $lacking cannot create $required', async ({ row, body, lacking }) => {
    const reply = await service.as(admin(lacking)).put(`/v1/${noun}/refused-${row}`, body);
    expect(outcomeOf(reply)).toBe('400 claims_not_subset');
    expect(outcomeOf(await service.as(SUPER_ADMIN).get(`/v1/${noun}/refused-${row}`))).toBe(notFound);
  });

  it.each(rows)(
    '$rule: an admin with $covering may change $required',
    async ({ row, body, covering, lacking }) => {
      const path = `/v1/${noun}/changed-${row}`;
      expect(outcomeOf(await service.as(admin(lacking)).put(path, body))).toBe(notFound);
      expect(outcomeOf(await service.as(admin(covering)).put(path, body))).toBe('200');
    },
  );

  it.each(rows)('$rule: an admin with $covering may delete $required', async ({ row, covering, lacking }) => {
    const path = `/v1/${noun}/doomed-${row}`;
    expect(outcomeOf(await service.as(admin(lacking)).delete(path))).toBe(notFound);
    expect(outcomeOf(await service.as(admin(covering)).delete(path))).toBe('204');
    expect(outcomeOf(await service.as(SUPER_ADMIN).get(path))).toBe(notFound);
  });

  it('do not restrict a super-admin', async () => {
    const caller = service.as({ role: 'super-admin' });
    const body = { ...settings, claims: { org: 'acme', team: ['a', 'b'] } };
    const path = `/v1/${noun}/super`;
    expect(outcomeOf(await caller.put(path, body))).toBe('201');
    expect(outcomeOf(await caller.get(path))).toBe('200');
    expect(outcomeOf(await caller.get(`${path}/entries`))).toBe('200');
    expect(outcomeOf(await caller.put(path, { ...body, claims: { org: 'contoso' } }))).toBe('200');
    expect(namesIn(await caller.get(`/v1/${noun}`), noun)).toContain('super');
    expect(outcomeOf(await caller.delete(path))).toBe('204');
  });

  it.each([
    { what: 'unchanged', claims: { org: 'acme' }, answer: '200' },
    { what: 'narrowed to claims of the admin', claims: { org: 'acme', team: 'x' }, answer: '200' },
    { what: 'cleared', claims: {}, answer: '200' },
    { what: 'moved to another organization', claims: { org: 'contoso' }, answer: '400 claims_not_subset' },
    { what: 'narrowed to another team', claims: { org: 'acme', team: 'y' }, answer: '400 claims_not_subset' },
    {
      what: 'set to a list beyond the admin',
      claims: { team: ['x', 'y'] },
      answer: '400 claims_not_subset',
    },
  ])('a PUT with the claims $what returns $answer', async ({ what, claims, answer }) => {
    const path = `/v1/${noun}/${what.replaceAll(' ', '-')}`;
    await service.as(SUPER_ADMIN).put(path, { ...settings, claims: { org: 'acme' } });
    const caller = service.as({ org: 'acme', team: 'x', role: 'admin' });
    expect(outcomeOf(await caller.put(path, { ...settings, claims }))).toBe(answer);
    const { claims: stored } = (await service.as(SUPER_ADMIN).get(path)).json as { claims: object };
    expect(stored).toEqual(answer === '200' ? claims : { org: 'acme' });
  });

  it('changed claims hide the resource from another admin immediately', async () => {
    const path = `/v1/${noun}/left-behind`;
    const both = service.as({ org: ['acme', 'contoso'], role: 'admin' });
    await both.put(path, { ...settings, claims: { org: 'acme' } });
    const acme = service.as({ org: 'acme', role: 'admin' });
    expect(outcomeOf(await acme.get(path))).toBe('200');
    expect(outcomeOf(await both.put(path, { ...settings, claims: { org: 'contoso' } }))).toBe('200');
    expect(outcomeOf(await acme.get(path))).toBe(notFound);
    expect(outcomeOf(await acme.put(path, { ...settings, claims: { org: 'acme' } }))).toBe(notFound);
  });

  it('a hidden resource looks like a missing one', async () => {
    await service.as(SUPER_ADMIN).put(`/v1/${noun}/secret`, { ...settings, claims: { org: 'acme' } });
    const caller = service.as({ org: 'contoso', role: 'admin' });
    for (const [method, below] of [
      ['GET', ''],
      ['GET', '/entries'],
      ['DELETE', ''],
      ...(noun === 'sources' ? [['POST', '/sync']] : []),
    ] as const) {
      const hidden = await caller.send(String(method), `/v1/${noun}/secret${below}`);
      const missing = await caller.send(String(method), `/v1/${noun}/nowhere${below}`);
      expect(outcomeOf(hidden)).toBe(notFound);
      expect({ ...(hidden.json as object), requestId: '' }).toEqual({
        ...(missing.json as object),
        requestId: '',
      });
    }
  });

  const conditions: { headers: Headers }[] = [
    { headers: { 'If-None-Match': '*' } },
    { headers: { 'If-Match': '"x"' } },
    { headers: { 'If-Match': '*' } },
  ];
  it.each(conditions)('a hidden resource is 404 even with $headers', async ({ headers }) => {
    await service.as(SUPER_ADMIN).put(`/v1/${noun}/shy`, { ...settings, claims: { org: 'acme' } });
    const caller = service.as({ org: 'contoso', role: 'admin' });
    expect(outcomeOf(await caller.put(`/v1/${noun}/shy`, settings, headers))).toBe(notFound);
  });
});
