import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { RegistryAccess, View } from '../views/view.js';
import { SharedReads } from '../database/shared-reads.js';
import { ApiError } from '../http/errors.js';
import { CachedJson } from '../http/json-answers.js';
import { digestOf } from '../views/partitions.js';
import { RegistryViews } from '../views/registry-views.js';
import { Reading } from './pages/snapshot-check.js';

/** All forms of all pages together. */
const KEPT_BYTES = 32 * 1024 * 1024;
/** What a page weighs beside its bytes. */
const OVERHEAD_BYTES = 1_000;
/** How often a page is read anew because something changed in between. */
const ATTEMPTS = 5;
const CHANGES_TOO_FAST = 'The catalogue changes faster than it can be read: try again shortly';

/** What a reading has led to: a page, or an error such as that there is no such entry. */
interface Outcome {
  readonly page?: CachedJson;
  readonly error?: unknown;
  /** Whether it is of the state of its view. */
  readonly stands: boolean;
}

/**
 * Answers that are ready to send, by view and question. The tag of a view moves with the revisions of its sources, so that
 * nothing here is ever out of date; what nobody asks for any more is dropped when room is needed.
 */
@Injectable()
export class PageCache {
  private readonly pages = new LRUCache<string, CachedJson>({
    maxSize: KEPT_BYTES,
    // A question may be long: a cursor holds what its sender put into it.
    sizeCalculation: ({ size }, key) => size + 2 * key.length + OVERHEAD_BYTES,
  });
  private readonly beingRead = new SharedReads<string, Outcome>();

  constructor(private readonly views: RegistryViews) {}

  /**
   * The answer to a question in what the caller sees.
   *
   * A view is known before its rows are read, and both may change in between. An answer stands only if it was of the view's
   * state of the catalogue all through; if not, the caller looks again, and it is read anew, a few times.
   *
   * @param question says everything the answer depends on beside the view.
   * @param read makes the answer, as a JSON text; what it throws is thrown here.
   * @throws ApiError 503 when the caller's claims keep opening something new each time.
   */
  async get(
    access: RegistryAccess,
    question: string,
    read: (reading: Reading) => Promise<string>,
  ): Promise<CachedJson> {
    for (let attempt = 1; ; attempt += 1) {
      const { view } = access;
      const key = `${view.tag} ${question}`;
      const kept = this.pages.get(key);
      if (kept) return kept;
      const { page, error, stands } = await this.readOnce(key, view, read);
      if (page && stands) this.pages.set(key, page);
      if (!stands) {
        access = await this.views.refresh(access);
        if (attempt < ATTEMPTS) continue;
        // Of the same partitions it is at least of states that were there since the request came; of others, entries that
        // went from one to another may be missing.
        if (digestOf(view.partitions) !== digestOf(access.view.partitions))
          throw new ApiError('database_timeout', CHANGES_TOO_FAST);
      }
      if (!page) throw error;
      return page;
    }
  }

  /** Those who ask for the same at the same time share the reading. */
  private readOnce(key: string, view: View, read: (reading: Reading) => Promise<string>): Promise<Outcome> {
    return this.beingRead.once(key, () => {
      const reading = new Reading(view);
      return read(reading).then(
        (text): Outcome => ({
          page: new CachedJson(text, () => this.weighAgain(key)),
          stands: reading.stands,
        }),
        (error: unknown): Outcome => ({ error, stands: reading.stands }),
      );
    });
  }

  // The cache weighs what is new to it, and nothing that it has.
  private weighAgain(key: string): void {
    const page = this.pages.peek(key);
    if (!page) return;
    this.pages.delete(key);
    this.pages.set(key, page);
  }
}
