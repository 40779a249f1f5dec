import { IsOptional, IsString } from 'class-validator';
import { describe, expect, it } from 'vitest';
import { QueryValidation } from './validation.pipes.js';

class SearchQuery {
  @IsOptional()
  @IsString()
  search?: string;
}

const given = { search: 'deploy', unknown: 'x' };
const read = (type: 'query' | 'body' | 'param' | 'custom', metatype?: new () => unknown) =>
  new QueryValidation().transform(given, { type, ...(metatype && { metatype }) });

describe('a query', () => {
  it('is read by its class, without what that does not know', () => {
    expect(read('query', SearchQuery)).toEqual({ search: 'deploy' });
  });

  it.each([
    ['no class at all', 'query', undefined],
    ['an interface', 'query', Object],
    ['a text', 'query', String],
    ['no query', 'body', SearchQuery],
    ['something of a decorator of its own', 'custom', SearchQuery],
  ] as const)('is refused where it is declared as %s', (_, type, metatype) => {
    expect(() => read(type, metatype)).toThrow('A query has to be declared as a whole, with a class');
  });
});
