import { describe, expect, it } from 'vitest';
import { derivedEntries, filesOf } from '../support/derived-entries.js';
import type { Tree } from '../support/git-repository.js';
import { aGitServer } from '../support/git-server.js';
import { aTemporaryDirectory, readsGit } from '../support/git-service.js';
import { aService } from '../support/service.js';

aTemporaryDirectory();

const skill = (name: string, more = '') =>
  `---\nname: ${name}\ndescription: Skill ${name}\n${more}---\n# ${name}\n`;
const LONG = 'word '.repeat(400).trim();

describe('a repository with skills', () => {
  const git = aGitServer().runs();
  const repository = git.repository('acme');
  const service = readsGit(
    aService().configuration({ content: { maxBytesPerVersion: '100KiB' } }),
    git,
    async () => {
      const tree: Tree = {
        'SKILL.md': skill('root'),
        'README.md': 'x',
        'skills/pdf/SKILL.md': skill(
          'PDF Tools',
          'license: MIT\nmetadata:\n  version: 1.50\n  tags: [pdf]\n',
        ),
        'skills/pdf/scripts/run.sh': 'run',
        'skills/pdf/link.sh': { mode: '120000', target: 'scripts/run.sh' },
        'skills/pdf/inner/SKILL.md': skill('inner'),
        'skills/twin/SKILL.md': skill('pdf-tools'),
        'skills/plain/SKILL.md': skill('plain'),
        'skills/long/SKILL.md': `---\nname: long\ndescription: ${LONG}\n---\n`,
        'skills/none/SKILL.md': '# None',
        'skills/unnamed/SKILL.md': skill("'日本'"),
        'skills/large/SKILL.md': skill('large'),
        'skills/large/data': 'x'.repeat(200_000),
        'skills/outside/SKILL.md': skill('outside'),
        'skills/outside/link': { mode: '120000', target: '../../README.md' },
        'skills/case/SKILL.md': skill('case'),
        'skills/case/readme.md': 'x',
        'skills/case/README.md': 'x',
        'skills/linked': { mode: '120000', target: 'plain' },
      };
      await repository.commit(tree);
      return { namespace: 'io.github.acme' };
    },
  );

  it('becomes skill documents, with their content', async () => {
    const report = await service.synced('main');
    expect(report).toMatchObject({ status: 'complete', error: null, format: 'skills' });
    const entries = await derivedEntries(service, 'skill');
    expect(Object.keys(entries).sort()).toEqual(['case', 'large', 'long', 'outside', 'pdf-tools', 'plain']);
    const { 'pdf-tools': pdf, long, plain } = entries;
    expect(pdf?.document).toEqual({
      ...{ namespace: 'io.github.acme', name: 'pdf-tools', description: 'Skill PDF Tools', version: '1.50' },
      ...{ license: 'MIT', tags: ['pdf'] },
      packages: [
        {
          ...{ registryType: 'git', url: git.url('acme'), commit: repository.git('rev-parse', 'main') },
          subfolder: 'skills/pdf',
        },
      ],
    });
    expect(plain?.document['version']).toBe(repository.git('rev-parse', 'main:skills/plain').slice(0, 12));
    expect(long?.document['description']).toMatch(/^(word )+word…$/);
    for (const entry of [pdf, long, plain]) expect(entry?.content.status).toBe('stored');
    expect(pdf && (await filesOf(service, 'skill', pdf))).toEqual([
      ...['SKILL.md', 'inner/SKILL.md', 'link.sh', 'scripts/run.sh'],
    ]);
  });

  it('skips folders that are not skills, and the second skill with the same name', async () => {
    const { skipped } = await service.synced('main');
    expect(skipped.map(({ reasons }) => reasons[0])).toEqual([
      'skills/none: SKILL.md: must begin with YAML frontmatter between lines of ---',
      'skills/twin: an earlier one has this name',
      'skills/unnamed: SKILL.md: name: must leave 2 to 64 lower-case letters, digits and hyphens',
    ]);
  });

  it.each([
    ['large', /more than content\.maxBytesPerVersion/],
    ['outside', /symbolic link that leads to no file/],
    ['case', /the same file as/],
  ])('has a skill without content, and the reason: %s', async (name, reason) => {
    const { [name]: entry } = await derivedEntries(service, 'skill');
    expect(entry?.content).toMatchObject({ status: 'failed', error: expect.stringMatching(reason) });
  });

  it('retries content once a limit leaves room for it', async () => {
    await service.restart((edited) =>
      edited.configuration({ content: { maxBytesPerVersion: '1MiB', maxBytes: '250KiB' } }),
    );
    await service.synced('main');
    const { large, case: twins } = await derivedEntries(service, 'skill');
    expect(large?.content.status).toBe('stored');
    expect(twins?.content.status).toBe('failed');
  });

  it('stores content that was waiting for room', async () => {
    const starting = JSON.stringify({ pad: { command: 'npx', args: ['-y', 'left-pad'] } });
    await repository.commit(
      { 'skills/plain/data': 'x'.repeat(90_000), 'skills/plain/.mcp.json': starting },
      { keeps: true },
    );
    expect(await service.synced('main')).toMatchObject({ status: 'complete' });
    const waiting = await derivedEntries(service, 'skill');
    expect(waiting['plain']?.content).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/full/i),
    });
    await service.restart((edited) => edited.configuration({ content: { maxBytesPerVersion: '1MiB' } }));
    const search = () => service.get('/registry/main/x/search?contains=npm:left-pad');
    // The index knows the skill without its members.
    expect((await search()).json['items']).toEqual([]);
    await service.synced('main');
    expect((await search()).json['items']).toMatchObject([{ name: 'io.github.acme/plain' }]);
    const { plain } = await derivedEntries(service, 'skill');
    expect(plain?.content.status).toBe('stored');
    expect(plain?.document).toEqual(waiting['plain']?.document);
  });

  it('is read as one skill if no folder below is one', async () => {
    await repository.commit({ 'SKILL.md': skill('root') });
    await service.reload((edited) =>
      edited.source('main', {
        kind: 'git',
        settings: { repository: git.url('acme'), namespace: 'io.github.acme' },
      }),
    );
    await service.synced('main');
    expect(Object.keys(await derivedEntries(service, 'skill'))).toEqual(['root']);
  });
});
