import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AuditEvent } from '../api/types.js';
import { Badge } from '../ui/badge.js';
import { Code } from '../ui/code.js';
import { Plain } from '../ui/plain.js';
import { Ago, exactly } from '../ui/time.js';

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
          <Plain
            text={actor.subject ?? (actor.key === undefined ? 'nobody known' : `key ${actor.key}`)}
            class="break"
          />
        </td>
        <td>
          <span class="muted">{target.type}</span> <Plain text={target.name} class="break" />
          {target.version !== undefined && <Plain text={` ${target.version}`} class="break version" />}
        </td>
        <td class="end">
          <button type="button" class="small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Less' : 'More'}
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

function EventDetails({ event }: { event: AuditEvent }): JSX.Element {
  const { time, requestId, traceId, step, actor, target, change, sourceIp, dropped } = event;
  const facts: readonly (readonly [string, string | null | undefined])[] = [
    ['Time', exactly(time)],
    ['Request', requestId],
    ['Trace', traceId],
    ['Decided by', step],
    ['Roles', actor.roles.join(', ')],
    ['Issuer', actor.issuer],
    ['Client', actor.client],
    ['Source', target.source],
    ['Registry', target.registry],
    ['From', sourceIp],
    ['Lost before this', dropped === undefined ? undefined : `${dropped} refusals and reads`],
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
                <Plain text={value ?? ''} class="break" />
              </dd>
            </>
          ))}
      </dl>
      {change && (
        <div class="change">
          {change.before !== undefined && (
            <div>
              <h3>Before</h3>
              <Code text={JSON.stringify(change.before, null, 2)} label="Before" />
            </div>
          )}
          {change.after !== undefined && (
            <div>
              <h3>After</h3>
              <Code text={JSON.stringify(change.after, null, 2)} label="After" />
            </div>
          )}
        </div>
      )}
    </>
  );
}
