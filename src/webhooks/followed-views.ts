import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { AccessPolicy } from '../authz/access-policy.js';
import type { Caller } from '../auth/caller.js';
import { type EntryName, ViewNames } from '../catalog/view-names.queries.js';
import type { Claims } from '../claims/claims.js';
import { READ_ACTIONS, type ViewChange } from '../config/audit-actions.js';
import type { WebhookView } from '../config/config.js';
import { isEntryType } from '../documents/entry-types.js';
import { isObject, member } from '../json/json-values.js';
import { RegistriesRepository } from '../registries/registries.repository.js';
import { RegistryViews } from '../visibility/registry-views.js';
import { KnownEntries } from './known-entries.queries.js';
import { type Message, without } from './message.js';
import { type TrailEvent, type TrailPage, WebhookPlaces } from './webhook-places.queries.js';

type Cause = Pick<TrailEvent, 'id' | 'time'>;

/** A view that a webhook follows, as this replica last read it. */
export interface FollowedView {
  readonly as: WebhookView;
  readonly caller: Caller;
  /** The policy's version when the whole view was last compared; undefined before. */
  comparedUnder: number | undefined;
}

const keyOf = ({ type, name }: { readonly type: string; readonly name: string }) => `${type}/${name}`;

export function follow(as: WebhookView): FollowedView {
  const { sub } = as.claims;
  const caller = { subject: typeof sub === 'string' ? sub : null, claims: as.claims, identified: true };
  return { as, caller, comparedUnder: undefined };
}

/**
 * Builds the messages of a webhook that follows a view (contract §12).
 *
 * The view is read when the messages are built, by the code that answers requests, and compared with the entries that the
 * receiver knows. So nothing is sent about an entry that is hidden by then, and an entry that left and came back since the
 * last comparison causes neither `entry.removed` nor `entry.added`.
 */
@Injectable()
export class FollowedViews {
  constructor(
    private readonly places: WebhookPlaces,
    private readonly known: KnownEntries,
    private readonly names: ViewNames,
    private readonly views: RegistryViews,
    private readonly registries: RegistriesRepository,
    private readonly policy: AccessPolicy,
  ) {}

  /** Whether the view may have changed without an event: a reload changes the policy of each replica separately. */
  isOutdated({ comparedUnder }: FollowedView): boolean {
    return comparedUnder !== this.policy.version;
  }

  /** @param wants whether the webhook receives events with this action. */
  async messagesOf(
    id: number,
    view: FollowedView,
    { events, next }: Pick<TrailPage, 'events' | 'next'>,
    wants: (action: string) => boolean,
  ): Promise<Message[]> {
    const { version } = this.policy;
    const before = await this.known.followed(id);
    const changes = events.filter(
      ({ outcome, action }) => outcome === 'allowed' && !READ_ACTIONS.includes(action),
    );
    const others = changes.filter(({ target }) => !isEntryType(target.type));
    const isWhole = others.length > 0 || this.isOutdated(view) || !isDeepStrictEqual(before, view.as);
    const named = new Map(
      changes.flatMap(({ target: { type, name } }): [string, EntryName][] =>
        isEntryType(type) ? [[keyOf({ type, name }), { type, name }]] : [],
      ),
    );
    const asked = isWhole ? null : [...named.values()];
    const shown = await this.shown(view, asked);
    if (before === null) {
      // What is about to change is new to the receiver.
      const names = [...shown.values()].map(({ entry }) => entry);
      const changing = await this.places.changingAfter(
        next,
        names.map(({ name }) => name),
      );
      const isNew = ({ type, name }: EntryName) => changing.has(name) || named.has(keyOf({ type, name }));
      await this.known.follow(
        id,
        view.as,
        names.filter((entry) => !isNew(entry)),
      );
    } else if (isWhole && !isDeepStrictEqual(before, view.as)) await this.known.follow(id, view.as, []);
    const known = new Map((await this.known.among(id, asked)).map((entry) => [keyOf(entry), entry]));
    const differing = {
      added: [...shown].flatMap(([key, { entry }]) => (known.has(key) ? [] : [entry])),
      removed: [...known].flatMap(([key, entry]) => (shown.has(key) ? [] : [entry])),
    };
    const all = [...differing.added, ...differing.removed].map(({ name }) => name);
    // The view is newer than these events. Changes by later ones are sent with them.
    const later = all.length > 0 ? await this.places.changingAfter(next, all) : new Set<string>();
    const fallback = others.at(-1) ?? (isWhole ? await this.places.lastConfiguration() : undefined);
    const caused = new Map<string, Message[]>();
    const cause = (type: ViewChange, entry: EntryName) => {
      const own = changes.filter(({ target }) => keyOf(target) === keyOf(entry));
      const by =
        this.causeOf(type, view, own) ??
        (later.has(entry.name) ? undefined : (own.at(-1) ?? fallback ?? events.at(-1)));
      if (by) caused.set(by.id, [...(caused.get(by.id) ?? []), viewChange(type, entry, by)]);
    };
    for (const entry of differing.removed) cause('entry.removed', entry);
    for (const entry of differing.added) cause('entry.added', entry);
    if (isWhole) view.comparedUnder = version;
    return this.inOrder(changes, caused, { view, shown, known, wants });
  }

  /** Puts the changes of the view next to the events that caused them. */
  private inOrder(
    events: readonly TrailEvent[],
    caused: Map<string, Message[]>,
    {
      view,
      shown,
      known,
      wants,
    }: {
      readonly view: FollowedView;
      readonly shown: ReadonlyMap<string, { readonly sources: ReadonlySet<string> }>;
      readonly known: ReadonlyMap<string, EntryName>;
      readonly wants: (action: string) => boolean;
    },
  ): Message[] {
    const messages: Message[] = [];
    const isKnown = new Set(known.keys());
    /** Entries whose claims were hidden at this place. */
    const hidden = new Set<string>();
    const take = (id: string, type: ViewChange) => {
      for (const message of caused.get(id) ?? [])
        if (message.type === type) {
          messages.push(message);
          if (type === 'entry.added') isKnown.add(keyOf(message.target));
        }
    };
    const ids = new Set(events.map(({ id }) => id));
    for (const id of caused.keys())
      if (!ids.has(id)) for (const type of ['entry.removed', 'entry.added'] as const) take(id, type);
    for (const event of events) {
      take(event.id, 'entry.added');
      const { source } = event.target;
      const key = keyOf(event.target);
      // An entry of another source with this name is not in the view.
      const isShown = source !== undefined && shown.get(key)?.sources.has(source);
      const isVisible = this.hasVisibleClaims(view, event);
      if (isVisible === false) hidden.add(key);
      else if (isVisible) hidden.delete(key);
      // Other nouns may be about versions that no consumer sees.
      const isEntryChange = event.action.startsWith('entry.');
      if (isEntryChange && isShown && isKnown.has(key) && !hidden.has(key) && wants(event.action))
        messages.push(shownEvent(event));
      take(event.id, 'entry.removed');
    }
    return messages;
  }

  /**
   * Returns the event that certainly caused a change of the view.
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

  /** Whether the caller sees the claims that the entry had after an event; undefined if the event has no claims. */
  private hasVisibleClaims({ caller }: FollowedView, { change }: TrailEvent): boolean | undefined {
    const claims = member(member(change, 'after'), 'claims');
    return isObject(claims) ? this.policy.maySee(caller, claims as Claims) : undefined;
  }

  /** Returns the entries of the view by key, each with the sources that provide it. */
  private async shown(
    { as, caller }: FollowedView,
    asked: readonly EntryName[] | null,
  ): Promise<Map<string, { readonly entry: EntryName; readonly sources: Set<string> }>> {
    const found = new Map<string, { entry: EntryName; sources: Set<string> }>();
    if (asked?.length === 0) return found;
    const registries =
      as.registry === null ? (await this.registries.rows()).map(({ name }) => name) : [as.registry];
    for (const registry of registries)
      for (const { type, name, source } of await this.names.shown(
        () => this.views.viewOf(caller, registry),
        asked,
      )) {
        const one = found.get(keyOf({ type, name })) ?? { entry: { type, name }, sources: new Set() };
        found.set(keyOf({ type, name }), one);
        one.sources.add(source);
      }
    return found;
  }
}

function viewChange(type: ViewChange, entry: EntryName, event: Cause): Message {
  return { id: `${event.id}/${keyOf(entry)}`, type, target: entry, event, data: entry };
}

// The receiver may not know who else may do what, nor what was hidden before.
function shownEvent(event: TrailEvent): Message {
  const { change } = event as { readonly change?: { readonly after?: object } };
  const data = {
    ...without(event, 'sourceIp', 'actor', 'change', 'dropped'),
    ...(change?.after ? { change: { after: change.after } } : {}),
  };
  return { id: event.id, type: event.action, target: event.target, event, data };
}
