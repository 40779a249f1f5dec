import { Type } from 'class-transformer';
import {
  Allow,
  ArrayMaxSize,
  ArrayNotEmpty,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsDefined,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Length,
  Matches,
  Max,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import { describe, expect, it } from 'vitest';
import { checkShape, countClaimValues, scalarsOf, toInstance, ValidateClass } from './class-validation.js';
import { IsClaims, IsText } from './decorators.js';
import { formatPath, issue } from './value-checks.js';

@ValidateClass<Part>(({ low, high }) => (low === high ? issue('has no width') : []))
class Part {
  @IsInt() @Min(0) @Max(9) low = 0;
  @IsOptional() @IsNumber() @Min(0) @Max(1) high?: number;
}

class Whole {
  @IsDefined() @ValidateNested() @Type(() => Part) part: Part;
  @IsOptional() @ValidateNested() @Type(() => Part) other?: Part;
  @IsArray() @ArrayMaxSize(2) @ValidateNested({ each: true }) @Type(() => Part) parts: Part[] = [];
  @IsOptional() @IsArray() @ArrayNotEmpty() @IsIn(['a', 'b'], { each: true }) @ArrayUnique() words?: string[];
  @IsOptional()
  @IsText()
  @Matches(/^\//, { message: 'must start with /' })
  @Matches(/^[^?]*$/, { message: 'has a query' })
  path?: string;
  @IsOptional() @IsString() @MaxLength(3) name?: string;
  @IsOptional() @IsBoolean() flag?: boolean;
  @IsOptional() @IsClaims() claims?: object;
  @Allow() any?: unknown;
}

const part = { low: 1 };
const problems = (tree: unknown) =>
  checkShape(Whole, tree).issues.map(({ path, message }) => `${formatPath(path)} ${message}`);

describe('a tree', () => {
  it.each<[unknown, ...string[]]>([
    [{ part }],
    [
      {
        part,
        other: part,
        parts: [part, {}],
        words: ['a', 'b'],
        path: '/x',
        name: 'abc',
        flag: false,
        any: null,
      },
    ],
    [{ part, claims: { constructor: 'a' }, any: { __proto__: 1, constructor: [], then: 1 } }],
    [null, ' must be a map, not nothing'],
    [{}, 'part is required'],
    [{ part: null }, 'part must be a map, not nothing'],
    [{ part: [part] }, 'part must be a map, not a list'],
    [{ part, other: null }, 'other must be a map, not nothing'],
    [{ part, other: [] }, 'other must be a map, not a list'],
    [{ part, other: 'x' }, 'other must be a map, not a string'],
    [{ part, parts: part }, 'parts must be a list, not a map'],
    [{ part, parts: null }, 'parts must be a list, not nothing'],
    [{ part, parts: [[part]] }, 'parts[0] must be a map, not a list'],
    [{ part, parts: [part, null] }, 'parts[1] must be a map, not nothing'],
    [{ part, parts: [part, { low: 10 }] }, 'parts[1].low must be a whole number from 0 to 9'],
    [{ part, parts: [part, part, part, part] }, 'parts must not have more than 2 items'],
    [{ part: { low: 1, high: 1 } }, 'part has no width'],
    [
      { part: { low: null, high: 2 } },
      'part.high must be a number from 0 to 1',
      'part.low must be a whole number from 0 to 9',
    ],
    [{ part, words: ['a', 'c', 5] }, 'words[1] must be one of a, b', 'words[2] must be one of a, b'],
    [{ part, words: ['b', 'a', 'b'] }, 'words[2] "b" is already in the list'],
    [{ part, words: [] }, 'words must not be an empty list'],
    [{ part, words: 'a' }, 'words must be a list, not a string'],
    [{ part, path: '/a?b' }, 'path has a query'],
    [{ part, path: 'a?b' }, 'path must start with /'],
    [{ part, path: 5 }, 'path must be a string, not a number: put it in quotes'],
    [{ part, name: null }, 'name must be a string, not nothing'],
    [{ part, name: 'abcd' }, 'name must have at most 3 characters'],
    [{ part, flag: 'true' }, 'flag must be true or false, not a string'],
    [{ part, claims: { a: 'b', c: 1 } }, 'claims.c must be a string or a list of strings'],
    [
      { part, names: 'a', part2: 1 },
      'names is not a known key; did you mean name?',
      'part2 is not a known key; did you mean part?',
    ],
    [{ part: { low: 1, hig: 1 } }, 'part.hig is not a known key; did you mean high?'],
  ])('$0 has the problems $1 $2', (tree, ...expected) => {
    expect(problems(tree).sort()).toEqual(expected.filter((each) => each !== undefined).sort());
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'then', '', '?', '\0', '\u00000'])(
    'cannot have the key %j',
    (key) => {
      const tree: unknown = JSON.parse(`{"part":{},${JSON.stringify(key)}:{"low":1}}`);
      expect(checkShape(Whole, tree).issues).toEqual([{ path: [key], message: 'is not a known key' }]);
      const { value, issues } = checkShape(Whole, tree, { unknownKeys: 'ignored' });
      expect([issues, value.constructor, Object.getPrototypeOf(value)]).toEqual([[], Whole, Whole.prototype]);
    },
  );

  it('has at most 100 problems with unknown keys', () => {
    const tree = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`key${at}`, 1]));
    expect(problems({ part, ...tree })).toHaveLength(100);
  });

  it('returns the number of its claims before they are checked', () => {
    const claims = { a: 'b', c: ['d', 'e'], f: { g: [1, null] } };
    expect(countClaimValues(toInstance(Whole, { part, claims, any: claims }))).toBe(5);
  });
});

describe('a class', () => {
  class NotRequired {
    @ValidateNested() @Type(() => Part) part: Part;
  }
  class WithoutType {
    @IsOptional() @ValidateNested() part?: Part;
  }
  class WithoutMessage {
    @Length(1) name: string;
  }

  it.each<[new () => object, string]>([
    [NotRequired, 'NotRequired.part needs @IsDefined or @IsOptional'],
    [WithoutType, 'WithoutType.part needs @Type'],
    [WithoutMessage, '@isLength of WithoutMessage.name needs a message'],
  ])('is refused if its decorators are incomplete: %s', (shape, message) => {
    expect(() => checkShape(shape, {})).toThrow(message);
  });

  it('lists its members that are single values', () => {
    expect(scalarsOf(Whole).map(({ path, kind }) => `${path.join('.')} ${kind}`)).toEqual(
      expect.arrayContaining(['part.low number', 'other.high number', 'path text', 'flag flag']),
    );
    expect(scalarsOf(Whole).map(({ path }) => path[0])).not.toContain('words');
  });
});
