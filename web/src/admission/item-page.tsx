import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api, unwrap } from '../api/client.js';
import type { AdmissionItemDetails, Claims, ContentState, Members } from '../api/types.js';
import { MembersSection } from '../content/members.js';
import { ClaimChips } from '../claims/claims-editor.js';
import { hashOf } from '../navigation/route.js';
import { isOffered, useSession } from '../session/session.js';
import { Ago, Day } from '../ui/format.js';
import { HiddenTitle, QueryResult, useQuery } from '../ui/query.js';
import { DiffText, JsonDiff } from '../ui/json-diff.js';
import { Detail, DetailList } from '../ui/table.js';
import { Code, escapeInvisible, UntrustedText } from '../ui/untrusted-text.js';
import { DecisionForm } from './decision-form.js';
import { HoldReasons, ItemStatusBadge, PersonName, readItems } from './items.js';
import { countDecidableAgain } from './review-badge.js';

/** An item, and whether the person can decide on it now. */
interface Decidable {
  readonly item: AdmissionItemDetails;
  readonly isDecidable: boolean;
}

async function readItem(id: string, signal: AbortSignal): Promise<Decidable> {
  const item = await unwrap(api.GET('/v1/admission/{id}', { params: { path: { id } }, signal }));
  if (item.status !== 'held') return { item, isDecidable: false };
  const { items } = await readItems({ decidable: true, name: item.name }, signal);
  return { item, isDecidable: items.some((each) => each.id === id) };
}

/** `#/review/{id}`: a held version or change, with the decisions on it. */
export function ItemPage({ id }: { id: string }): JSX.Element {
  const query = useQuery(id, (signal) => readItem(id, signal));
  const [notice, setNotice] = useState('');
  const reload = (why: string) => {
    setNotice(why);
    query.refetch();
    countDecidableAgain();
  };
  return (
    <>
      <p class="trail">
        <a href="#/review">← Review</a>
      </p>
      {notice !== '' && (
        <p class="notice" role="status">
          {notice}
        </p>
      )}
      {!query.value && <HiddenTitle text="Review" />}
      <QueryResult query={query}>
        {({ item, isDecidable }) => <ItemDetails item={item} isDecidable={isDecidable} reload={reload} />}
      </QueryResult>
    </>
  );
}

interface ItemDetailsProps extends Decidable {
  readonly reload: (why: string) => void;
}

function ItemDetails({ item, isDecidable, reload }: ItemDetailsProps): JSX.Element {
  const { name, version, type, status, reasons, change } = item;
  return (
    <article class="item">
      <h1>
        <UntrustedText text={name} class="break" />
      </h1>
      <p class="entry-facts">
        {version !== undefined && <UntrustedText text={version} class="break version" />}
        <span class="badge plain">{type}</span>
        {change && <span class="badge plain">change to {change.claims ? 'claims' : 'status'}</span>}
        <ItemStatusBadge status={status} />
      </p>
      {status === 'held' && (
        <section>
          <h2>Why it waits</h2>
          <HoldReasons reasons={reasons} />
        </section>
      )}
      <Facts item={item} />
      <Dangers members={item.members ?? {}} />
      <div class="columns">
        <div>
          {change ? <Change item={item} /> : <Content item={item} />}
          {item.members && <MembersSection members={item.members} />}
        </div>
        <div>
          <DecisionForm key={item.digest} item={item} isDecidable={isDecidable} reload={reload} />
          <History item={item} />
          <BlockLink item={item} />
        </div>
      </div>
    </article>
  );
}

function Facts({ item }: { item: AdmissionItemDetails }): JSX.Element {
  const { me } = useSession();
  const { source, publisher, claims, publishedAt, firstSeenAt, dueAt, approvals, digest, status } = item;
  return (
    <section>
      <DetailList>
        <Detail name="Source">
          <UntrustedText text={source} class="break" />
        </Detail>
        <Detail name="Published by">{publisher && <PersonName person={publisher} me={me} />}</Detail>
        <Detail name="Published">{publishedAt !== undefined && <Day at={publishedAt} />}</Detail>
        <Detail name="First seen">
          <Ago at={firstSeenAt} />
        </Detail>
        <Detail name="Approved automatically">{dueAt !== undefined && <Ago at={dueAt} />}</Detail>
        {/** Absent if the person does not hold the claims. */}
        <Detail name="Claims">
          {(claims as Claims | undefined) && <ClaimChips claims={claims as Claims} />}
        </Detail>
        <Detail name="Files">{item.content && contentText(item.content)}</Detail>
        <Detail name="Approvals">{status === 'held' && `${approvals.given} of ${approvals.required}`}</Detail>
        <Detail name="SHA-256">
          <code>
            <UntrustedText text={digest} />
          </code>
        </Detail>
      </DetailList>
    </section>
  );
}

function contentText({ status, error }: ContentState): string {
  if (status === 'none') return 'Not stored, and no package can be fetched';
  return error === undefined ? status : `${status}: ${escapeInvisible(error, Infinity)}`;
}

/** Warns reviewers about programs that a plugin runs without being asked. */
function Dangers({ members: { hooks = [], executables = [], unreadable = [] } }: { members: Members }) {
  const events = [...new Set(hooks.map(({ event }) => event))];
  const dangers = [
    ...(events.length > 0 ? [`runs commands at ${events.join(', ')}`] : []),
    ...(executables.length > 0 ? [`adds programs: ${executables.join(', ')}`] : []),
    ...(unreadable.length > 0 ? [`could not be read: ${unreadable.join(', ')}`] : []),
  ];
  return (
    <p class="entry-facts">
      {dangers.map((danger) => (
        <span key={danger} class="badge bad break">
          <UntrustedText text={danger} />
        </span>
      ))}
    </p>
  );
}

/** The document, and its differences from the served one. */
function Content({ item }: { item: AdmissionItemDetails }): JSX.Element {
  const { document: content, served, replaces, status } = item;
  if (content === undefined)
    return <p class="muted">You don't have access to the document, or it is no longer stored.</p>;
  const text = JSON.stringify(content, null, 2);
  if (!replaces || served === undefined)
    return (
      <section>
        <h2>Document</h2>
        {status === 'held' && <p class="muted above-code">This entry has no approved version yet.</p>}
        <Code text={text} label="Document" isWhole />
      </section>
    );
  return (
    <>
      <section>
        <h2>Changes</h2>
        <p class="muted">
          Compared with version <UntrustedText text={replaces.version} class="version" />, the current one.
        </p>
        <JsonDiff before={served} after={content} />
        <MemberChanges operations={replaces.diff} />
      </section>
      <details class="document">
        <summary>Whole document</summary>
        <Code text={text} label="Document" isWhole />
      </details>
    </>
  );
}

type Replaced = NonNullable<AdmissionItemDetails['replaces']>;

const MEMBERS_PATH = '/members';

/** What has been added to and removed from the members of the served version. */
function MemberChanges({ operations }: { operations: Replaced['diff'] }): JSX.Element {
  const changes = operations
    .map(({ op, path, value }) => ({ op, path: String(path), value }))
    .filter(({ path }) => `${path}/`.startsWith(`${MEMBERS_PATH}/`));
  if (changes.length === 0) return <></>;
  return (
    <>
      <h3>Contains</h3>
      <pre class="diff" tabIndex={0} role="region" aria-label="Changes to its contents">
        {changes.map(({ op, path, value }, index) => (
          <DiffText
            key={index}
            sign={op === 'remove' ? '-' : '+'}
            text={`${path.slice(MEMBERS_PATH.length + 1)} ${value === undefined ? '' : JSON.stringify(value)}`}
          />
        ))}
      </pre>
    </>
  );
}

/** A change to claims or status. */
function Change({ item }: { item: AdmissionItemDetails }): JSX.Element {
  const { change = {}, claims } = item;
  return (
    <section>
      <h2>Requested change</h2>
      <DetailList>
        {change.claims && (
          <>
            <Detail name="Claims now">
              {(claims as Claims | undefined) && <ClaimChips claims={claims as Claims} />}
            </Detail>
            <Detail name="Claims then">
              <ClaimChips claims={change.claims as Claims} none="No claims: visible to super-admins only" />
            </Detail>
          </>
        )}
        <Detail name="New status">{change.status}</Detail>
        <Detail name="Message">
          {change.statusMessage != null && <UntrustedText text={change.statusMessage} class="break" />}
        </Detail>
      </DetailList>
    </section>
  );
}

const DECISION_LABELS = new Map(
  Object.entries({
    approve: 'approved',
    reject: 'rejected',
    comment: 'commented',
    withdraw: 'withdrew it',
  }),
);

function History({ item: { decisions } }: { item: AdmissionItemDetails }): JSX.Element {
  const { me } = useSession();
  return (
    <section>
      <h2>Decisions and comments</h2>
      {decisions.length === 0 ? (
        <p class="muted">None yet.</p>
      ) : (
        <ol class="decisions">
          {decisions.map(({ decision, by, at, comment }, index) => (
            <li key={index}>
              <p>
                <b>
                  <PersonName person={by} me={me} />
                </b>{' '}
                {DECISION_LABELS.get(decision) ?? decision}{' '}
                <span class="muted">
                  <Ago at={at} />
                </span>
              </p>
              {comment !== undefined && comment !== '' && (
                <p class="comment">
                  <UntrustedText text={comment} class="break" />
                </p>
              )}
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

/** A prefilled form for blocking a name in every source. */
function BlockLink({ item }: { item: AdmissionItemDetails }): JSX.Element {
  const session = useSession();
  const { name, change, status } = item;
  if (change || status !== 'held' || !isOffered(session, 'superAdmin')) return <></>;
  return (
    <p class="below">
      <a href={hashOf(['review', 'blocks', '+new'], { names: name })}>Block this name in every source</a>
    </p>
  );
}
