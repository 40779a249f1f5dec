import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';

const LOCK_TIMEOUT = /\('lock_timeout', '\d+'\)/;

/**
 * Lets the reads of services in this process wait for locks without the limit of 4 s, for tests that hold locks: a slow
 * machine may need longer. Call before `runs`.
 */
export function waitForLocks(): void {
  const { query } = pg.Client.prototype;
  let isFound = false;
  beforeAll(() => {
    pg.Client.prototype.query = function (this: pg.Client, statement: unknown, ...more: unknown[]) {
      const isSetting = typeof statement === 'string' && LOCK_TIMEOUT.test(statement);
      isFound ||= isSetting;
      const patient = isSetting ? statement.replace(LOCK_TIMEOUT, `('lock_timeout', '0')`) : statement;
      return (query as (...all: unknown[]) => unknown).call(this, patient, ...more);
    } as typeof query;
  });
  afterAll(() => {
    pg.Client.prototype.query = query;
    if (!isFound) throw new Error('No service has set a lock timeout');
  });
}
