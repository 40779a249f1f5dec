import { expect, it } from 'vitest';
import { CSV_HEAD, csvRecord } from './audit-csv.js';

const event = {
  id: '0190',
  time: '2027-01-01T00:00:00.000Z',
  requestId: null,
  action: 'source.update',
  outcome: 'allowed',
  actor: { subject: 'ada', issuer: null, roles: ['superAdmin', 'manageSources'] },
  target: { type: 'source', name: 'a' },
  sourceIp: '::1',
};
const fields = (record: string) =>
  [...record.matchAll(/"((?:[^"]|"")*)"(?:,|\r\n$)/g)].map(([, field = '']) => field.replaceAll('""', '"'));
/** The event as a map from the names of the columns. */
const recordOf = (more: object) => {
  const values = fields(csvRecord({ ...event, ...more }));
  return Object.fromEntries(fields(CSV_HEAD).map((name, index) => [name, values[index]]));
};

it('an event is a record with a field for each column', () => {
  expect(fields(csvRecord(event))).toHaveLength(fields(CSV_HEAD).length);
  expect(recordOf({ change: { after: { claims: { org: 'a "b", c' } } } })).toMatchObject({
    action: 'source.update',
    issuer: '',
    roles: 'superAdmin manageSources',
    before: '',
    after: '{"claims":{"org":"a \\"b\\", c"}}',
  });
});

it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '＝1', '＋1', '－1', '＠A'])(
  'spreadsheets do not evaluate %j as a formula',
  (text) => {
    const record = recordOf({
      actor: { ...event.actor, subject: text, name: text },
      target: { type: 'source', name: text },
    });
    expect(record).toMatchObject({ subject: `'${text}`, name: `'${text}`, targetName: `'${text}` });
  },
);

it.each(['ada', 'a=b', "'=1", 'a, b', 'two\nlines', ''])('%j stays as it is', (text) => {
  expect(recordOf({ target: { type: 'source', name: text } })['targetName']).toBe(text);
});
