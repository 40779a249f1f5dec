import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import { READ_ACTIONS, type ViewChange } from '../config/audit-actions.js';
import type { WebhookView } from '../config/config.js';
import { type EntryName, isEntryType } from '../documents/entry-types.js';
import { isObject, member } from '../json/json-values.js';
import { Semaphore } from '../limits/semaphore.js';
import { KnownEntries } from './known-entries.queries.js';
import { type Message, without } from './message.js';
import {
  type ViewDifferences,
  keyOf,
  type ReadView,
  type ShownEntry,
  ViewComparison,
} from './view-comparison.js';
import { type TrailEvent, type TrailPage, WebhookPlaces } from './webhook-places.queries.js';

/** Maximum number of views read at the same time. */
const MAX_READS = 2;
const READ_TIMEOUT_MS = 10 * 60_000;

type Cause = Pick<TrailEvent, 'id' | 'time'>;

/** A view that a webhook follows, as last read by this replica. */
export interface FollowedView extends ReadView {
  /** The policy's version when the whole view was last compared; undefined before the first comparison. */
  comparedUnder: number | undefined;
  /** The last comparison of the whole view whose differences were delivered. */
  compared: Comparison | undefined;
}

/** How far the whole view has been compared for a page of the trail. */
export interface Comparison {
  readonly page: string;
  /** The last name that was compared; null if all were. */
  readonly reached: EntryName | null;
}

/** The messages to send about a page of the trail. */
export interface ViewMessages {
  readonly messages: readonly Message[];
  /** Set if the messages are differences of the whole view: the page is read again once they are delivered. */
  readonly compared?: Comparison;
}

interface ViewPage extends TrailPage {
  readonly changes: readonly TrailEvent[];
  /** The entries that the messages are about, by key. */
  readonly named: ReadonlyMap<string, EntryName>;
}

export function follow(as: WebhookView): FollowedView {
  const { sub } = as.claims;
  const subject = typeof sub === 'string' ? sub : null;
  const caller = { subject, issuer: null, claims: as.claims, identified: true };
  return { as, caller, comparedUnder: undefined, compared: undefined };
}

/**
 * Builds the messages of a webhook that follows a view (reference/webhooks).
 * The view is read when the messages are built, and compared with the entries that the receiver knows. Nothing is
 * therefore sent about an entry that is hidden at that time, and an entry that left and came back since the last
 * comparison causes neither `entry.removed` nor `entry.added`. If all changes are events about single entries, only
 * those entries are compared; after any other change, such as a sync, the whole view is.
 */
@Injectable()
export class FollowedViews {
  private readonly reads = new Semaphore(MAX_READS, READ_TIMEOUT_MS);

  constructor(
    private readonly places: WebhookPlaces,
    private readonly known: KnownEntries,
    private readonly comparison: ViewComparison,
    private readonly policy: AccessPolicy,
  ) {}

  /** Whether the view may have changed without an event: each replica changes its policy separately in a reload. */
  isOutdated({ comparedUnder }: FollowedView): boolean {
    return comparedUnder !== this.policy.version;
  }

  /**
   * Limits concurrent reads, so that connections remain free for requests.
   *
   * @param wants whether the webhook receives events with this action.
   */
  messagesOf(
    id: number,
    view: FollowedView,
    page: TrailPage,
    wants: (action: string) => boolean,
  ): Promise<ViewMessages> {
    return this.reads.run(String(id), undefined, () => this.read(id, view, page, wants));
  }

  private async read(
    id: number,
    view: FollowedView,
    { events, next }: TrailPage,
    wants: (action: string) => boolean,
  ): Promise<ViewMessages> {
    const { version } = this.policy;
    const followed = await this.known.followed(id);
    const changes = events.filter(
      ({ outcome, action }) => outcome === 'allowed' && !READ_ACTIONS.includes(action),
    );
    const named = new Map(
      changes.flatMap(({ target: { type, name } }): [string, EntryName][] =>
        isEntryType(type) ? [[keyOf({ type, name }), { type, name }]] : [],
      ),
    );
    const page = { events, next, changes, named };
    const isFollowed = isDeepStrictEqual(followed, view.as);
    const mayDiffer = changes.some(({ target }) => !isEntryType(target.type));
    if (mayDiffer || !isFollowed || this.isOutdated(view)) {
      const part = followed === null ? await this.learnAll(id, view, page) : await this.part(id, view, page);
      if (part) return part;
      if (!isFollowed) await this.known.follow(id, view.as);
      view.comparedUnder = version;
    }
    return { messages: await this.messagesAbout(id, view, page, wants) };
  }

  /** Records the entries of a view that is new to the receiver as known, except those that are about to change. */
  private async learnAll(id: number, view: FollowedView, page: ViewPage): Promise<null> {
    await this.known.forgetAll(id);
    let reached: EntryName | null = null;
    do {
      const differences: ViewDifferences = await this.comparison.differences(id, view, reached);
      const isOther = await this.ofOtherEvents(page, differences.added);
      await this.known.learn(id, differences.added.filter(isOther));
      ({ reached } = differences);
    } while (reached);
    return null;
  }

  /** Returns the next differences of the whole view; null if all have been delivered. */
  private async part(id: number, view: FollowedView, page: ViewPage): Promise<ViewMessages | null> {
    const { events, next, changes } = page;
    const key = JSON.stringify([this.policy.version, view.as, next, events.at(-1)?.id]);
    let compared = view.compared?.page === key ? view.compared : undefined;
    while (compared?.reached !== null) {
      const { added, removed, reached }: ViewDifferences = await this.comparison.differences(
        id,
        view,
        compared?.reached ?? null,
      );
      compared = { page: key, reached };
      if (added.length + removed.length === 0) continue;
      const isOther = await this.ofOtherEvents(page, [...added, ...removed]);
      const cause =
        changes.findLast(({ target }) => !isEntryType(target.type)) ??
        (await this.places.lastConfiguration()) ??
        events.at(-1);
      if (!cause) continue;
      const messages = [
        ...removed.filter(isOther).map((entry) => viewChange('entry.removed', entry, cause)),
        ...added.filter(isOther).map((entry) => viewChange('entry.added', entry, cause)),
      ];
      if (messages.length > 0) return { messages, compared };
    }
    return null;
  }

  /**
   * Returns whether differences come from events that are not about the entry; events about the entry are sent together
   * with the differences.
   */
  private async ofOtherEvents(
    { next, named }: ViewPage,
    differing: readonly EntryName[],
  ): Promise<(entry: EntryName) => boolean> {
    if (differing.length === 0) return () => true;
    // The view is newer than the page. Changes by later events are sent with those events.
    const later = await this.places.changingAfter(
      next,
      differing.map(({ name }) => name),
    );
    return (entry) => !later.has(entry.name) && !named.has(keyOf(entry));
  }

  private async messagesAbout(
    id: number,
    view: FollowedView,
    { next, changes, named }: ViewPage,
    wants: (action: string) => boolean,
  ): Promise<Message[]> {
    const asked = [...named.values()];
    const shown = await this.comparison.shown(view, asked);
    const known = new Set((await this.known.among(id, asked)).map(keyOf));
    const differing = {
      added: asked.filter((entry) => shown.has(keyOf(entry)) && !known.has(keyOf(entry))),
      removed: asked.filter((entry) => !shown.has(keyOf(entry)) && known.has(keyOf(entry))),
    };
    const all = [...differing.added, ...differing.removed].map(({ name }) => name);
    const later = all.length > 0 ? await this.places.changingAfter(next, all) : new Set<string>();
    const caused = new Map<string, Message[]>();
    const cause = (type: ViewChange, entry: EntryName) => {
      const own = changes.filter(({ target }) => keyOf(target) === keyOf(entry));
      const by = this.causeOf(type, view, own) ?? (later.has(entry.name) ? undefined : own.at(-1));
      if (by) caused.set(by.id, [...(caused.get(by.id) ?? []), viewChange(type, entry, by)]);
    };
    for (const entry of differing.removed) cause('entry.removed', entry);
    for (const entry of differing.added) cause('entry.added', entry);
    return this.inOrder(changes, caused, view, shown, known, wants);
  }

  /**
   * Places the changes to the view next to the events that caused them.
   *
   * @param isKnown keys of the entries that the receiver knows before the events.
   */
  private inOrder(
    events: readonly TrailEvent[],
    caused: Map<string, Message[]>,
    view: FollowedView,
    shown: ReadonlyMap<string, ShownEntry>,
    isKnown: Set<string>,
    wants: (action: string) => boolean,
  ): Message[] {
    const messages: Message[] = [];
    /** Entries whose claims were hidden at this point. */
    const hidden = new Set<string>();
    const take = (id: string, type: ViewChange) => {
      for (const message of caused.get(id) ?? [])
        if (message.type === type) {
          messages.push(message);
          if (type === 'entry.added') isKnown.add(keyOf(message.target));
        }
    };
    for (const event of events) {
      take(event.id, 'entry.added');
      const { source } = event.target;
      const key = keyOf(event.target);
      // The view does not contain an entry with this name from another source.
      const isShown = source !== undefined && shown.get(key)?.sources.has(source);
      const isVisible = this.hasVisibleClaims(view, event);
      if (isVisible === false) hidden.add(key);
      else if (isVisible) hidden.delete(key);
      // Events about other nouns may concern versions that no consumer sees.
      const isEntryChange = event.action.startsWith('entry.');
      if (isEntryChange && isShown && isKnown.has(key) && !hidden.has(key) && wants(event.action))
        messages.push(shownEvent(event));
      take(event.id, 'entry.removed');
    }
    return messages;
  }

  /**
   * Returns the event that certainly caused a change to the view.
   *
   * @param events the events about the entry, in order.
   */
  private causeOf(
    type: ViewChange,
    view: FollowedView,
    events: readonly TrailEvent[],
  ): TrailEvent | undefined {
    if (type === 'entry.added') return events.find((event) => this.hasVisibleClaims(view, event));
    return events.findLast(
      (event) => event.action === 'entry.delete' || this.hasVisibleClaims(view, event) === false,
    );
  }

  /** Whether the caller covers the claims that the entry had after an event; undefined if the event has no claims. */
  private hasVisibleClaims({ caller }: FollowedView, { change }: TrailEvent): boolean | undefined {
    const claims = member(member(change, 'after'), 'claims');
    return isObject(claims) ? this.policy.maySee(caller, claims as Claims) : undefined;
  }
}

function viewChange(type: ViewChange, entry: EntryName, event: Cause): Message {
  return { id: `${event.id}/${keyOf(entry)}`, type, target: entry, event, data: entry };
}

// The receiver must not learn what others may do, or what was hidden before.
function shownEvent(event: TrailEvent): Message {
  const { change } = event as { readonly change?: { readonly after?: object } };
  const data = {
    ...without(event, 'sourceIp', 'actor', 'change', 'dropped'),
    ...(change?.after ? { change: { after: change.after } } : {}),
  };
  return { id: event.id, type: event.action, target: event.target, event, data };
}
