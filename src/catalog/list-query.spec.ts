import { describe, expect, it } from 'vitest';
import { PublishQuery } from '../entries/entries.dto.js';
import { ApiError } from '../http/errors.js';
import { AdminListParameters } from '../http/lists.dto.js';
import { RequestValidationPipe } from '../http/validation.pipe.js';
import { BareListQuery, ServerListQuery, VersionQuery, VersionsQuery } from './list-query.dto.js';

const pipe = new RequestValidationPipe();
const validated = (metatype: new () => object, query: object) =>
  pipe.transform(query, { type: 'query', metatype });

/** Returns the error details; undefined if the query is valid. */
function refused(metatype: new () => object, query: object): readonly unknown[] | undefined {
  try {
    validated(metatype, query);
  } catch (error) {
    return error instanceof ApiError ? error.details : undefined;
  }
  return undefined;
}

describe('a query', () => {
  it.each([
    [AdminListParameters, { limit: '0' }, 'limit: a whole number from 1 to 100, given once'],
    [AdminListParameters, { limit: ['1', '1'] }, 'limit: a whole number from 1 to 100, given once'],
    [AdminListParameters, { cursor: ['a', 'b'] }, 'cursor: give it once'],
    [ServerListQuery, { search: 'a\0b' }, 'search: text without NUL characters, given once'],
    [ServerListQuery, { search: 'a'.repeat(501) }, 'search: at most 500 characters'],
    [ServerListQuery, { version: ['1', '2'] }, 'version: latest or one exact version, given once'],
    [ServerListQuery, { version: 'a'.repeat(256) }, 'version: at most 255 characters'],
    [ServerListQuery, { include_deleted: 'yes' }, 'include_deleted: true or false, given once'],
    [
      ServerListQuery,
      { updated_since: '2025-02-30T00:00:00Z' },
      'updated_since: an RFC 3339 date and time such as 2025-08-07T13:15:04Z, given once',
    ],
    [BareListQuery, { status: 'deleted' }, 'status: active, deprecated or archived, given once'],
    [ServerListQuery, { limit: ' ' }, 'limit: a whole number from 1 to 100, given once'],
    [ServerListQuery, { search: ['', ''] }, 'search: text without NUL characters, given once'],
    [AdminListParameters, { limit: '' }, 'limit: a whole number from 1 to 100, given once'],
    [PublishQuery, { dry_run: '' }, 'dry_run: true or false, given once'],
  ])('of %s is refused with an error detail: %j', (metatype, query, sentence) => {
    expect(refused(metatype, query)).toEqual([sentence]);
  });

  it('gets one error detail for each invalid parameter', () => {
    expect(refused(ServerListQuery, { limit: 'x', include_deleted: 'x' })).toHaveLength(2);
  });

  it('may have unknown parameters (reference/catalog)', () => {
    const query = validated(AdminListParameters, { limit: '5', colour: 'red', __proto__: null });
    expect(query).toMatchObject({ limit: '5' });
    expect(query).not.toHaveProperty('colour');
  });

  it.each([
    [ServerListQuery, ['cursor', 'limit', 'search', 'updated_since', 'version', 'include_deleted']],
    [BareListQuery, ['cursor', 'limit', 'search', 'status']],
    [VersionsQuery, ['cursor', 'include_deleted']],
    [VersionQuery, ['include_deleted']],
  ])('of %s may have empty parameters, which count as absent (reference/catalog)', (metatype, parameters) => {
    const query = Object.fromEntries(parameters.map((parameter) => [parameter, '']));
    expect(validated(metatype, query)).toMatchObject(query);
  });
});
