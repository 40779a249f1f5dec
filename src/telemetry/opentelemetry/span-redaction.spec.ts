import { describe, expect, it } from 'vitest';
import { withoutLiterals } from './span-redaction.js';

describe('withoutLiterals', () => {
  it.each([
    ["select 'secret'", 'select ?'],
    ["select 'it''s a secret', x", 'select ?, x'],
    ["select E'se\\'cret', x", 'select ?, x'],
    ["select 'cut off", 'select ?'],
    ['select $$secret$$, $a$se$$cret$a$', 'select ?, ?'],
    ['select 42, 4.2e10, -7', 'select ?, ?, -?'],
    ['select x from t where id = $1 and n > $12', 'select x from t where id = $1 and n > $12'],
    ['select "a 1", t1.x2 from t1', 'select "a 1", t1.x2 from t1'],
    ['select x -- secret\nfrom t', 'select x from t'],
    ['select /* secret */ x', 'select x'],
    ['set statement_timeout = 1000', 'set statement_timeout = ?'],
    ["select x'ff', b'01', U&'\\0041'", 'select ?, ?, ?'],
  ])('sanitizes %s to %s', (statement, sanitized) => expect(withoutLiterals(statement)).toBe(sanitized));

  it('truncates long statements', () => {
    expect(withoutLiterals(`select ${'x, '.repeat(100_000)}`).length).toBeLessThanOrEqual(4_000);
    expect(withoutLiterals(`select '${"''".repeat(50_000)}`)).toBe('select ?');
  });
});
