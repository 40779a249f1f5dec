import { IsOptional, IsString } from 'class-validator';
import { describe, expect, it } from 'vitest';
import { RequestValidationPipe } from './validation.pipe.js';

class SearchQuery {
  @IsOptional()
  @IsString()
  search?: string;
}

const sent = { search: 'deploy', unknown: 'x' };
const validate = (
  type: 'query' | 'body' | 'param' | 'custom',
  metatype?: new () => unknown,
  data?: string,
): unknown =>
  new RequestValidationPipe().transform(sent, {
    type,
    ...(metatype && { metatype }),
    ...(data !== undefined && { data }),
  });

describe('the validation pipe', () => {
  it('returns a query as its class, without unknown parameters', () => {
    return expect(validate('query', SearchQuery)).resolves.toEqual({ search: 'deploy' });
  });

  it('refuses a body with an unknown key', () => {
    return expect(validate('body', SearchQuery)).rejects.toThrow('unknown: is not a known key');
  });

  it.each(['param', 'custom'] as const)('passes a parameter of kind %s', (type) => {
    expect(validate(type, Object as never)).toBe(sent);
  });

  describe.each(['query', 'body'] as const)('throws for a %s', (type) => {
    it.each([
      ['without a type', undefined, undefined],
      ['typed unknown or by an interface', Object, undefined],
      ['typed string', String, undefined],
      ['read by member', SearchQuery, 'search'],
    ] as const)('%s', (_, metatype, data) => {
      expect(() => validate(type, metatype, data)).toThrow('must be one parameter with a DTO class');
    });
  });
});
