import type { AuditEventAnswer } from './audit-list.dto.js';

const COLUMNS = {
  id: ({ id }) => id,
  time: ({ time }) => time,
  action: ({ action }) => action,
  outcome: ({ outcome }) => outcome,
  code: ({ code }) => code,
  step: ({ step }) => step,
  subject: ({ actor }) => actor.subject,
  name: ({ actor }) => actor.name,
  issuer: ({ actor }) => actor.issuer,
  client: ({ actor }) => actor.client,
  key: ({ actor }) => actor.key,
  roles: ({ actor }) => actor.roles.join(' '),
  targetType: ({ target }) => target.type,
  targetName: ({ target }) => target.name,
  targetVersion: ({ target }) => target.version,
  source: ({ target }) => target.source,
  registry: ({ target }) => target.registry,
  before: ({ change }) => change?.before,
  after: ({ change }) => change?.after,
  waiting: ({ waiting }) => waiting,
  attempts: ({ attempts }) => attempts,
  claimed: ({ claimed }) => claimed,
  requestId: ({ requestId }) => requestId,
  traceId: ({ traceId }) => traceId,
  sourceIp: ({ sourceIp }) => sourceIp,
  dropped: ({ dropped }) => dropped,
} satisfies Record<string, (event: AuditEventAnswer) => unknown>;

/** Spreadsheets evaluate a field that begins like this as a formula, and people choose names and subjects. */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/;

/** The header record: the names of the columns (RFC 4180). */
export const CSV_HEAD = recordOf(Object.keys(COLUMNS));

/** Returns an event as a CSV record; values that are not text become JSON. */
export function csvRecord(event: AuditEventAnswer): string {
  return recordOf(
    Object.values(COLUMNS).map((read: (of: AuditEventAnswer) => unknown) => {
      const value = read(event);
      if (value === undefined || value === null) return '';
      return typeof value === 'string' ? value : JSON.stringify(value);
    }),
  );
}

function recordOf(fields: readonly string[]): string {
  const quoted = fields.map((field) => `"${field.replace(FORMULA, `'$&`).replaceAll('"', '""')}"`);
  return `${quoted.join(',')}\r\n`;
}
