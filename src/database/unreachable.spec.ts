import { describe, expect, it } from 'vitest';
import { isDatabaseUnreachable, isStatementTimeout } from './unreachable.js';

const error = (message: string, more: object = {}) => Object.assign(new Error(message), more);

describe('an error of the database', () => {
  it.each([
    [error('x', { code: 'ECONNREFUSED' }), true],
    [error('x', { code: '57P01' }), true],
    [error('x', { code: '57P03' }), true],
    [error('x', { code: '08006' }), true],
    [error('server_login_retry', { code: '08P01' }), true],
    [error('unsupported startup parameter: statement_timeout', { code: '08P01' }), false],
    [error('x', { code: '53300' }), true],
    [error('connect', { code: 'ENOENT', syscall: 'connect' }), true],
    [error('open', { code: 'ENOENT', syscall: 'open' }), false],
    [error('Connection terminated unexpectedly'), true],
    [error('timeout exceeded when trying to connect'), true],
    [error('wrapped', { driverError: error('x', { code: 'ECONNRESET' }) }), true],
    [new AggregateError([error('x', { code: 'ECONNREFUSED' })], 'both addresses'), true],
    [error('x', { code: '23505' }), false],
    [error('x', { code: '28P01' }), false],
    [error('x', { code: '57014' }), false],
    [error('syntax error'), false],
    ['ECONNREFUSED', false],
    [null, false],
  ])('%s means that it is not reachable: %s', (value, answer) =>
    expect(isDatabaseUnreachable(value)).toBe(answer),
  );

  it.each([
    ['57014', true],
    ['55P03', true],
    ['40P01', true],
    ['57P01', false],
    ['23505', false],
  ])('%s may not occur on another attempt: %s', (code, answer) =>
    expect(isStatementTimeout(error('x', { code }))).toBe(answer),
  );
});
