import { describe, expect, it } from 'vitest';
import { asFetchError, FetchError } from '../outbound/fetch-error.js';
import { OutboundError } from '../outbound/http-client.js';
import { PrivateAddressError } from '../outbound/private-address.js';

const URL = 'https://catalogue.example/a.json?token=x';
const failed = (cause: Error) => new OutboundError(URL, cause.message, { cause });
const withCode = (code: string) => Object.assign(new Error(`getaddrinfo ${code} payroll.internal`), { code });
const UNREACHABLE =
  'https://catalogue.example/a.json: its host is unknown, at a private address, or refuses connections; the server log has the cause';

describe('the shown error of a source', () => {
  it.each([
    new PrivateAddressError('payroll.internal'),
    ...['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'EHOSTUNREACH'].map(withCode),
  ])(
    'is the same for a private address and an unknown name if private addresses are not allowed: %s',
    (cause) => {
      const hidden = asFetchError(failed(cause), false) as FetchError;
      expect(hidden).toBeInstanceOf(FetchError);
      expect(hidden.shown).toBe(UNREACHABLE);
      expect(hidden.message).toContain(cause.message);
      expect((asFetchError(failed(cause), true) as FetchError).shown).toContain(cause.message);
    },
  );

  it('includes every other reason', () => {
    const expired = new OutboundError(URL, 'certificate has expired', {
      cause: withCode('CERT_HAS_EXPIRED'),
    });
    expect((asFetchError(expired, false) as FetchError).shown).toMatch(/certificate has expired$/);
    const other = new Error('a bug');
    expect(asFetchError(other, false)).toBe(other);
  });
});
