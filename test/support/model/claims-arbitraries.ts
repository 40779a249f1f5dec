import fc from 'fast-check';
import { type Claims, type Held, MAPPED, type MappingRule } from './model.js';

// Few keys and values, so that callers and resources often match; some are deceptively similar.
export const KEYS = ['org', 'team', 'tier'];
const VALUES = ['a', 'b', '1', 'true'];

/**
 * A single value, or several distinct ones in order: one spelling per meaning, so that responses can be compared
 * directly.
 */
const aLabelValue = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...VALUES) },
  { weight: 2, arbitrary: fc.subarray([...VALUES].sort(), { minLength: 2, maxLength: 3 }) },
);
export const aLabel: fc.Arbitrary<Claims> = fc.dictionary(fc.constantFrom(...KEYS), aLabelValue, {
  minKeys: 1,
  maxKeys: 2,
  noNullPrototype: true,
});
export const someClaims: fc.Arbitrary<Claims> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  { weight: 9, arbitrary: aLabel },
  // Claims that every token has, and members that every object inherits.
  {
    weight: 1,
    arbitrary: fc.constantFrom<Claims>({ aud: 'registry' }, { sub: 'sue' }, { constructor: 'a' }),
  },
);

const aScalar = fc.constantFrom<unknown>(...VALUES, 1, true, 1.5, null);
const aHeldValue = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<unknown>(...VALUES) },
  { weight: 4, arbitrary: fc.array(aScalar, { maxLength: 4 }) },
  { weight: 1, arbitrary: aScalar },
  { weight: 1, arbitrary: fc.constantFrom<unknown>([['a']], { a: 'a' }, [{ a: 'a' }], 'a,b', ' a', 'A') },
);
const someNested = fc.record(
  { groups: aHeldValue, 'a/b': aHeldValue, constructor: aScalar },
  { requiredKeys: [], noNullPrototype: true },
);
export const someHeld: fc.Arbitrary<Held> = fc
  .record({
    sub: fc.constantFrom('sue', 'tom'),
    aud: fc.oneof(fc.constant('registry'), fc.constantFrom(...MAPPED)),
    nested: fc.option(someNested, { nil: {} }),
    more: fc.dictionary(fc.constantFrom(...KEYS), aHeldValue, { maxKeys: 3, noNullPrototype: true }),
  })
  .map(({ sub, aud, nested, more }) => ({ sub, aud, nested, ...more }));

/** Claims of callers without a token. They match as often as the claims of a token. */
export const aHeldLabel: fc.Arbitrary<Claims> = fc.oneof(
  { weight: 1, arbitrary: fc.constant({}) },
  {
    weight: 6,
    arbitrary: fc.dictionary(fc.constantFrom(...KEYS), aLabelValue, { maxKeys: 3, noNullPrototype: true }),
  },
);

const POINTERS = [
  '/org',
  '/team',
  '/tier',
  '/nested/groups',
  '/nested/a~1b',
  '/nested',
  '/team/0',
  '/constructor',
  '/sub/0',
];
const aPointer = fc.constantFrom(...POINTERS);
const aKey = fc.constantFrom(...KEYS);
const aValue = fc.constantFrom(...VALUES);
const aMappingRule: fc.Arbitrary<MappingRule> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ to: aKey, from: aPointer }) },
  {
    weight: 3,
    arbitrary: fc.record({
      to: aKey,
      from: aPointer,
      values: fc.dictionary(aValue, aValue, { minKeys: 1, noNullPrototype: true }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ to: aKey, value: aValue }) },
  {
    weight: 2,
    arbitrary: fc.record({
      to: aKey,
      value: aValue,
      when: fc.oneof(
        aLabel,
        fc.constantFrom<Claims>({ sub: 'sue' }, { aud: 'mapped-0', sub: 'tom' }, { aud: 'registry' }),
      ),
    }),
  },
);
/** Some rules pass values through, so that generated callers sometimes have roles. */
export const aMapping = fc
  .record({
    kept: fc
      .oneof(fc.constant([]), fc.subarray(KEYS))
      .map((keys) => keys.map((key): MappingRule => ({ from: `/${key}`, to: key }))),
    more: fc.array(aMappingRule, { maxLength: 4 }),
  })
  .map(({ kept, more }) => [...kept, ...more]);
