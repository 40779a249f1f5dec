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
async function refused(metatype: new () => object, query: object): Promise<readonly unknown[] | undefined> {
  try {
    await validated(metatype, query);
  } catch (error) {
    return error instanceof ApiError ? error.details : undefined;
  }
  return undefined;
}

describe('a query', () => {
  it.each([
    [AdminListParameters, { limit: '0' }, 'limit: must be a whole number from 1 to 100, given once'],
    [AdminListParameters, { limit: ['1', '1'] }, 'limit: must be a whole number from 1 to 100, given once'],
    [AdminListParameters, { cursor: ['a', 'b'] }, 'cursor: must be a string, not a list'],
    [
      ServerListQuery,
      { search: 'a\0b' },
      'search: must be text without NUL characters or unpaired surrogates',
    ],
    [ServerListQuery, { search: 'a'.repeat(501) }, 'search: must have at most 500 characters'],
    [
      ServerListQuery,
      { version: ['1', '2'] },
      'version: must be text without NUL characters or unpaired surrogates',
    ],
    [ServerListQuery, { version: 'a'.repeat(256) }, 'version: must have at most 255 characters'],
    [ServerListQuery, { include_deleted: 'yes' }, 'include_deleted: must be true or false, given once'],
    [
      ServerListQuery,
      { updated_since: '2025-02-30T00:00:00Z' },
      'updated_since: must be an RFC 3339 date and time such as 2025-08-07T13:15:04Z',
    ],
    [BareListQuery, { status: 'deleted' }, 'status: must be one of active, deprecated, archived'],
    [ServerListQuery, { limit: ' ' }, 'limit: must be a whole number from 1 to 100, given once'],
    [
      ServerListQuery,
      { search: ['', ''] },
      'search: must be text without NUL characters or unpaired surrogates',
    ],
    [AdminListParameters, { limit: '' }, 'limit: must be a whole number from 1 to 100, given once'],
    [PublishQuery, { dry_run: '' }, 'dry_run: must be true or false, given once'],
  ])('of %s is refused with an error detail: %j', async (metatype, query, sentence) => {
    expect(await refused(metatype, query)).toEqual([sentence]);
  });

  it('gets one error detail for each invalid parameter', async () => {
    expect(await refused(ServerListQuery, { limit: 'x', include_deleted: 'x' })).toHaveLength(2);
  });

  it('may have unknown parameters (reference/catalog)', async () => {
    const query = await validated(AdminListParameters, { limit: '5', colour: 'red', __proto__: null });
    expect(query).toMatchObject({ limit: '5' });
    expect(query).not.toHaveProperty('colour');
  });

  it.each([
    [ServerListQuery, ['cursor', 'limit', 'search', 'updated_since', 'version', 'include_deleted']],
    [BareListQuery, ['cursor', 'limit', 'search', 'status']],
    [VersionsQuery, ['cursor', 'include_deleted']],
    [VersionQuery, ['include_deleted']],
  ])(
    'of %s may have empty parameters, which count as absent (reference/catalog)',
    async (metatype, parameters) => {
      const query = Object.fromEntries(parameters.map((parameter) => [parameter, '']));
      expect(await validated(metatype, query)).toMatchObject(query);
    },
  );
});
