import { expect, it } from 'vitest';
import { onPrimary } from './primary.js';

it.each([
  'select name from source',
  '  SELECT "s"."id" FROM "source" "s" WHERE "s"."updated_at" > $1',
  '\nwith found as (select 1) select * from found',
  'select set_config($1, $2, true)',
])('makes a read fail on a standby: %s', (text) => {
  const sent = onPrimary(text);
  expect(sent).toContain(text);
  expect(sent).toContain('pg_is_in_recovery()');
  expect(onPrimary(sent)).toBe(sent);
});

it('makes the reads of a cursor fail there', () => {
  const declare = 'declare stored no scroll cursor for ';
  expect(onPrimary(`${declare}select 1`)).toBe(`${declare}${onPrimary('select 1')}`);
  expect(onPrimary(onPrimary(`${declare}select 1`))).toBe(onPrimary(`${declare}select 1`));
});

it.each([
  'start transaction',
  'set local statement_timeout = 0',
  'insert into source (name) select $1',
  'with gone as (delete from entry returning id) select * from gone',
  'with moved as (update entry_version set is_latest = false) select 1',
  'with moved as (update "entry" e set name = $1) select 1',
  'select id from source for update skip locked',
  'select id from source for no key update of source',
  'SELECT id FROM claim_set FOR KEY SHARE',
])('leaves a statement that fails there anyway: %s', (text) => expect(onPrimary(text)).toBe(text));
