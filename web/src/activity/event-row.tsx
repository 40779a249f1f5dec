import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AuditEvent } from '../api/types.js';
import { Badge } from '../ui/badge.js';
import { Ago, exactTime } from '../ui/format.js';
import { JsonDiff } from '../ui/json-diff.js';
import { Code, UntrustedText } from '../ui/untrusted-text.js';

export function EventRow({ event }: { event: AuditEvent }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { time, action, outcome, code, actor, target } = event;
  return (
    <>
      <tr>
        <td>
          <Ago at={time} />
        </td>
        <td>
          {action} {outcome === 'refused' && <Badge state="refused" />}
          {code !== undefined && (
            <p class="muted small-text">
              <code>{code}</code>
            </p>
          )}
        </td>
        <td>
          <UntrustedText
            text={actor.name ?? actor.subject ?? (actor.key === undefined ? 'unknown' : `key ${actor.key}`)}
            class="break"
          />
        </td>
        <td>
          <span class="muted">{target.type}</span> <UntrustedText text={target.name} class="break" />
          {target.version !== undefined && (
            <UntrustedText text={` ${target.version}`} class="break version" />
          )}
        </td>
        <td class="end">
          <button type="button" class="small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Hide' : 'Details'}
          </button>
        </td>
      </tr>
      {isOpen && (
        <tr class="event-more">
          <td colSpan={5}>
            <EventDetails event={event} />
          </td>
        </tr>
      )}
    </>
  );
}

function sentenceOf({ check, expected, received }: NonNullable<AuditEvent['attempts']>[number]): string {
  return [
    check,
    ...(expected === undefined ? [] : [`expected ${expected}`]),
    ...(received === undefined ? [] : [`received ${received}`]),
  ].join(', ');
}

function EventDetails({ event }: { event: AuditEvent }): JSX.Element {
  const {
    time,
    requestId,
    traceId,
    step,
    actor,
    target,
    change,
    attempts = [],
    claimed,
    sourceIp,
    dropped,
  } = event;
  const facts: readonly (readonly [string, string | null | undefined])[] = [
    ['Time', exactTime(time)],
    ['Request ID', requestId],
    ['Trace ID', traceId],
    ['Decided at', step],
    ['Subject', actor.name === undefined ? undefined : actor.subject],
    ['Roles', actor.roles.join(', ')],
    ['Issuer', actor.issuer],
    ['Client', actor.client],
    ['Source', target.source],
    ['Registry', target.registry],
    ['Claimed issuer', claimed?.issuer],
    ['Claimed client', claimed?.client],
    ...attempts.map((attempt) => [`Refused by ${attempt.provider}`, sentenceOf(attempt)] as const),
    ['Source IP', sourceIp],
    ['Dropped before', dropped === undefined ? undefined : `${dropped} events`],
  ];
  return (
    <>
      <dl class="facts">
        {facts
          .filter(([, value]) => value !== undefined && value !== null && value !== '')
          .map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd>
                <UntrustedText text={value ?? ''} class="break" />
              </dd>
            </>
          ))}
      </dl>
      {change && <Change {...change} />}
    </>
  );
}

/** The settings before and after a change, with the differences marked. */
function Change({ before, after }: NonNullable<AuditEvent['change']>): JSX.Element {
  if (before !== undefined && after !== undefined) return <JsonDiff before={before} after={after} />;
  const [name, state] = before === undefined ? ['After', after] : ['Before', before];
  return (
    <>
      <h2>{name}</h2>
      <Code text={JSON.stringify(state, null, 2)} label={name} />
    </>
  );
}
