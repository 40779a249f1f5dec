import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Entrance, View } from '../authz/view.js';
import { KeptJson } from '../http/json-answers.js';

/** All forms of all pages together. */
const KEPT_BYTES = 32 * 1024 * 1024;
/** What a page weighs beside its bytes. */
const OVERHEAD_BYTES = 1_000;
/** A reading that takes longer, on a connection that hangs perhaps, is not shared with those who come now. */
const PATIENCE_MS = 2_000;
/** How often a page is read anew because something changed in between. */
const ATTEMPTS = 5;

/**
 * Answers that are ready to send, by view and question. The tag of a view moves with the revisions of its sources, so that
 * nothing here is ever out of date; what nobody asks for any more is dropped when room is needed.
 */
@Injectable()
export class PageCache {
  private readonly pages = new LRUCache<string, KeptJson>({
    maxSize: KEPT_BYTES,
    // A question may be long: a cursor holds what its sender put into it.
    sizeCalculation: ({ size }, key) => size + 2 * key.length + OVERHEAD_BYTES,
  });
  private readonly beingRead = new Map<string, Promise<KeptJson>>();

  /**
   * The answer to a question in what the caller sees.
   *
   * A view is known before its rows are read, and both may change in between. So the caller looks again afterwards: an answer
   * stands only if it was of one state of the catalogue all through.
   *
   * @param question says everything the answer depends on beside the view.
   * @param read makes the answer, as a JSON text; what it throws is thrown here.
   */
  async get(entrance: Entrance, question: string, read: (view: View) => Promise<string>): Promise<KeptJson> {
    let { view } = entrance;
    for (let attempt = 1; ; attempt += 1) {
      const key = `${view.tag} ${question}`;
      const kept = this.pages.get(key);
      if (kept) return kept;
      const [outcome] = await Promise.allSettled([this.readOnce(key, view, read)]);
      const now = await entrance.look();
      const stands = now.tag === view.tag;
      if (outcome.status === 'fulfilled' && stands) this.pages.set(key, outcome.value);
      if (stands || attempt === ATTEMPTS) {
        if (outcome.status === 'rejected') throw outcome.reason;
        return outcome.value;
      }
      view = now;
    }
  }

  /** Those who ask for the same at the same time share the reading. */
  private readOnce(key: string, view: View, read: (view: View) => Promise<string>): Promise<KeptJson> {
    const underWay = this.beingRead.get(key);
    if (underWay) return underWay;
    const page = read(view).then((text) => new KeptJson(text, () => this.weighAgain(key)));
    this.beingRead.set(key, page);
    const unshare = () => {
      clearTimeout(patience);
      if (this.beingRead.get(key) === page) this.beingRead.delete(key);
    };
    const patience = setTimeout(unshare, PATIENCE_MS);
    page.then(unshare, unshare);
    return page;
  }

  // The cache weighs what is new to it, and nothing that it has.
  private weighAgain(key: string): void {
    const page = this.pages.peek(key);
    if (!page) return;
    this.pages.delete(key);
    this.pages.set(key, page);
  }
}
