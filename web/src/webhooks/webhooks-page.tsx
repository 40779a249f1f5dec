import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api, readPages, unwrap } from '../api/client.js';
import type { Claims, WebhookDelivery, WebhookState } from '../api/types.js';
import { ClaimChips } from '../claims/claims-editor.js';
import { hashOf, type Route } from '../navigation/route.js';
import { ConfirmButton } from '../ui/action.js';
import { CursorList, type CursorPage } from '../ui/cursor-list.js';
import { Ago, formatDuration } from '../ui/format.js';
import { EmptyState, QueryResult, useQuery } from '../ui/query.js';
import { Detail, DetailList, Table } from '../ui/table.js';
import { UntrustedText } from '../ui/untrusted-text.js';

/** `#/webhooks`, `#/webhooks/{name}` */
export function WebhookRoutes({ route }: { route: Route }): JSX.Element {
  const [, name] = route.path;
  const query = useQuery('webhooks', (signal) =>
    readPages(
      (next) => unwrap(api.GET('/v1/webhooks', { params: { query: next }, signal })),
      ({ webhooks }) => webhooks,
    ),
  );
  return (
    <>
      <p class="trail">
        {name === undefined ? <a href="#/activity">← Activity</a> : <a href="#/webhooks">← Webhooks</a>}
      </p>
      <div class="page-head">
        <h1>{name === undefined ? 'Webhooks' : <UntrustedText text={name} class="break" />}</h1>
        <button type="button" onClick={query.refetch} disabled={query.isLoading}>
          Refresh
        </button>
      </div>
      <QueryResult query={query}>
        {(webhooks) => {
          if (name === undefined) return <WebhookTable webhooks={webhooks} />;
          const webhook = webhooks.find((each) => each.name === name);
          if (!webhook) return <EmptyState title="There is no such webhook" />;
          return <WebhookDetails key={name} webhook={webhook} refresh={query.refetch} />;
        }}
      </QueryResult>
    </>
  );
}

const STATES: Readonly<Record<WebhookState['status'], { readonly label: string; readonly tone: string }>> = {
  active: { label: 'delivering', tone: 'good' },
  retrying: { label: 'retrying', tone: 'warn' },
  paused: { label: 'paused', tone: 'bad' },
};

function State({ status }: Pick<WebhookState, 'status'>): JSX.Element {
  const { label, tone } = STATES[status];
  return <span class={`badge ${tone}`}>{label}</span>;
}

function lagOf({ lag }: Pick<WebhookState, 'lag'>): string {
  return lag === 0 ? 'nothing waits' : `waits for ${formatDuration(lag * 1_000)}`;
}

function WebhookTable({ webhooks }: { webhooks: readonly WebhookState[] }): JSX.Element {
  if (webhooks.length === 0)
    return (
      <EmptyState title="No webhooks">
        They are set up in the configuration file, under <code>webhooks</code>.
      </EmptyState>
    );
  return (
    <Table columns={['Name', 'State', 'Oldest event', 'Host', 'Last error']}>
      {webhooks.map(({ name, host, status, lag, lastError }) => (
        <tr key={name}>
          <th scope="row">
            <a href={hashOf(['webhooks', name])}>
              <UntrustedText text={name} class="break" />
            </a>
          </th>
          <td>
            <State status={status} />
          </td>
          <td>{lagOf({ lag })}</td>
          <td>
            <UntrustedText text={host} class="break" />
          </td>
          <td>{lastError !== undefined && <UntrustedText text={lastError} class="break" />}</td>
        </tr>
      ))}
    </Table>
  );
}

interface WebhookProps {
  readonly webhook: WebhookState;
  readonly refresh: () => void;
}

function WebhookDetails({ webhook, refresh }: WebhookProps): JSX.Element {
  const { host, actions, as, status, lastError } = webhook;
  const [count, setCount] = useState(0);
  const reload = () => {
    refresh();
    setCount(count + 1);
  };
  return (
    <div class="stack">
      <DetailList>
        <Detail name="State">
          <State status={status} />
        </Detail>
        <Detail name="Oldest event">{lagOf(webhook)}</Detail>
        <Detail name="Last error">
          {lastError !== undefined && <UntrustedText text={lastError} class="break" />}
        </Detail>
        <Detail name="Host">
          <UntrustedText text={host} class="break" />
        </Detail>
        <Detail name="Events">
          <UntrustedText text={actions.join(', ')} class="break" />
        </Detail>
        {as && (
          <Detail name="As seen with">
            <ClaimChips claims={as.claims as Claims} />{' '}
            {as.registry !== undefined && (
              <>
                in <UntrustedText text={as.registry} />
              </>
            )}
          </Detail>
        )}
      </DetailList>
      <Controls webhook={webhook} refresh={reload} />
      <Deliveries key={count} webhook={webhook} />
    </div>
  );
}

function Controls({ webhook: { name, status }, refresh }: WebhookProps): JSX.Element {
  const [since, setSince] = useState('');
  const path = { name };
  const start = new Date(since);
  return (
    <section>
      <h2>Deliver</h2>
      <p class="buttons">
        {status !== 'active' && (
          <ConfirmButton
            label={status === 'paused' ? 'Resume' : 'Try now'}
            question={status === 'paused' ? `Resume ${name}?` : `Try to deliver to ${name} now?`}
            act={async () => {
              await unwrap(api.POST('/v1/webhooks/{name}/resume', { params: { path } }));
              refresh();
            }}
          >
            All waiting events are sent, oldest first.
          </ConfirmButton>
        )}
        <label class="choice">
          <span>Send again since</span>
          <input
            type="datetime-local"
            value={since}
            onInput={(event) => setSince(event.currentTarget.value)}
          />
        </label>
        {!Number.isNaN(start.getTime()) && (
          <ConfirmButton
            label="Replay"
            question={`Send all events since ${start.toLocaleString('en')} again?`}
            act={async () => {
              const body = { since: start.toISOString() };
              await unwrap(api.POST('/v1/webhooks/{name}/replay', { params: { path }, body }));
              setSince('');
              refresh();
            }}
          >
            The receiver gets these events a second time, before any later ones.
          </ConfirmButton>
        )}
      </p>
    </section>
  );
}

const PER_PAGE = 50;

async function readDeliveries(
  name: string,
  cursor?: string,
  signal?: AbortSignal,
): Promise<CursorPage<WebhookDelivery>> {
  const query = { limit: PER_PAGE, ...(cursor === undefined ? {} : { cursor }) };
  const { deliveries, metadata } = await unwrap(
    api.GET('/v1/webhooks/{name}/deliveries', {
      params: { path: { name }, query },
      ...(signal ? { signal } : {}),
    }),
  );
  return { items: deliveries, next: metadata.nextCursor };
}

function Deliveries({ webhook: { name } }: { webhook: WebhookState }): JSX.Element {
  const query = useQuery(name, (signal) => readDeliveries(name, undefined, signal));
  return (
    <section>
      <h2>Last deliveries</h2>
      <QueryResult query={query}>
        {(first) =>
          first.items.length === 0 ? (
            <EmptyState title="Nothing has been sent yet" />
          ) : (
            <CursorList
              key={first.items[0]?.id}
              first={first}
              read={(cursor) => readDeliveries(name, cursor)}
              moreLabel="Earlier deliveries"
            >
              {(items) => (
                <Table columns={['Time', 'Event', 'Result', 'Attempts', 'Error']}>
                  {items.map(({ id, type, status, attempts, at, error }) => (
                    <tr key={id}>
                      <td>
                        <Ago at={at} />
                      </td>
                      <td>
                        <UntrustedText text={type} class="break" />
                      </td>
                      <td>
                        <span class={`badge ${status === 'delivered' ? 'good' : 'bad'}`}>{status}</span>
                      </td>
                      <td>{attempts}</td>
                      <td>{error !== undefined && <UntrustedText text={error} class="break" />}</td>
                    </tr>
                  ))}
                </Table>
              )}
            </CursorList>
          )
        }
      </QueryResult>
    </section>
  );
}
