import type { DataSource } from 'typeorm';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { View } from '../../visibility/view.js';
import type { EntrySearch } from '../entry-search.js';
import { SearchIndex } from './search-index.service.js';

const EPOCH = 'epoch';
const SEARCH: EntrySearch = { filter: {}, sort: 'name', limit: 10, after: null };

/** A database with one source, whose reads wait for `held`. */
class OneSource {
  epoch = EPOCH;
  revision = 0;
  entries: { name: string; revision: number }[] = [];
  exists = true;
  transactions = 0;
  held: Promise<unknown> = Promise.resolve();
  private found: object[] = [];

  add(name: string): void {
    this.revision += 1;
    this.entries.push({ name, revision: this.revision });
  }

  readonly query = async (text: string, values: [unknown[], unknown[]]): Promise<object[]> => {
    await this.held;
    if (text.includes('as epoch')) return [{ epoch: this.epoch }];
    if (!this.exists) return [];
    if (text.includes('"isContinued"'))
      return [{ id: 1, revision: this.revision, readAt: 'now', isContinued: values[1][0] !== 'epoch' }];
    if (text.startsWith('declare')) {
      const since = Number(values[1][0]);
      this.found = this.entries.filter(({ revision }) => revision > since).map(({ name }) => row(name));
    }
    return text.startsWith('fetch') ? this.found.splice(0) : [];
  };

  readonly dataSource = {
    manager: this,
    transaction: (_isolation: string, work: (manager: OneSource) => Promise<unknown>) => {
      this.transactions += 1;
      return work(this);
    },
  } as unknown as DataSource;
}

function row(name: string): object {
  const summary = { tags: [], transports: [], installable: false };
  return {
    ...{ exists: true, sourceId: 1, type: 'server', name, claimSetId: 1, status: 'active' },
    ...{ versionId: '1', changedAt: 0, summary, texts: [name] },
  };
}

function viewAt(revision: number, epoch = EPOCH): View {
  return {
    seesAll: true,
    tag: '',
    sourceIds: [1],
    revisions: `${epoch}|{1}|{${revision}}`,
  } as never;
}

describe('the search index', () => {
  afterEach(() => vi.useRealTimers());

  const database = () => {
    const source = new OneSource();
    source.add('io.acme/a');
    source.add('io.acme/b');
    const index = new SearchIndex(
      source.dataSource,
      { searchIndexBytes: 1e9 } as never,
      { synonyms: [] } as never,
    );
    const signal = new AbortController().signal;
    const find = async (view: View) => {
      const context = { callerKey: 'caller', deadline: performance.now() + 3_600_000, signal };
      return (await index.search(view, SEARCH, context as never))?.places.map(({ name }) => name);
    };
    return { source, index, find };
  };

  it('keeps the entries of a source that becomes unused while its changes are read', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'performance'] });
    const { source, index, find } = database();
    expect(await find(viewAt(2))).toEqual(['io.acme/a', 'io.acme/b']);
    source.add('io.acme/c');
    let release = (): void => undefined;
    source.held = new Promise<void>((resolve) => (release = resolve));
    const finding = find(viewAt(3));
    vi.advanceTimersByTime(11 * 60_000);
    release();
    expect(await finding).toEqual(['io.acme/a', 'io.acme/b', 'io.acme/c']);
    expect(await find(viewAt(3))).toEqual(['io.acme/a', 'io.acme/b', 'io.acme/c']);
    index.onApplicationShutdown();
  });

  it('refuses a view of an earlier epoch, and keeps its entries', async () => {
    const { source, index, find } = database();
    await find(viewAt(2));
    const before = source.transactions;
    expect(await find(viewAt(2, 'earlier'))).toBeUndefined();
    expect(await find(viewAt(2))).toEqual(['io.acme/a', 'io.acme/b']);
    expect(source.transactions).toBe(before);
    index.onApplicationShutdown();
  });

  it('treats a source as deleted only in the epoch of its view', async () => {
    const { source, index, find } = database();
    source.exists = false;
    source.epoch = 'later';
    expect(await find(viewAt(2))).toBeUndefined();
    source.exists = true;
    source.epoch = EPOCH;
    expect(await find(viewAt(2))).toEqual(['io.acme/a', 'io.acme/b']);
    index.onApplicationShutdown();
  });
});
