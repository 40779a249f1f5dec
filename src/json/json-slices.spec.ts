import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonSlicer, RepeatedKeyError, type Slice } from './json-slices.js';

const MAX = 64 * 1024;

interface Sliced {
  slices: Slice[];
  skeleton: string;
  skeletonKeys: number;
}

function slice(text: string): Sliced {
  const slicer = new JsonSlicer(Buffer.from(text), ['servers', 'skills'], MAX);
  const slices = [...slicer.slices()];
  return { slices, skeleton: slicer.skeleton, skeletonKeys: slicer.skeletonKeys };
}

/** Whether the text can be read by slicing it and parsing each slice, as the reader does. */
function reads(text: string): boolean {
  try {
    const { slices, skeleton } = slice(text);
    JSON.parse(skeleton);
    for (const found of slices) JSON.parse(String(found.text));
    return true;
  } catch {
    return false;
  }
}

const parses = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const file = fc.record({
  version: fc.string(),
  data: fc.record({
    servers: fc.array(fc.jsonValue({ maxDepth: 3 }), { maxLength: 4 }),
    other: fc.jsonValue(),
    skills: fc.array(fc.jsonValue({ maxDepth: 3 }), { maxLength: 3 }),
  }),
});
const spelled = fc
  .tuple(file, fc.constantFrom(undefined, 1, '\t', ' \r\n '))
  .map(([value, space]) => JSON.stringify(value, null, space));

describe('slicing', () => {
  it('returns every element of the lists, and the rest as the skeleton', () => {
    fc.assert(
      fc.property(spelled, (text) => {
        const value = JSON.parse(text) as { data: { servers: unknown[]; skills: unknown[] } };
        const { slices, skeleton } = slice(text);
        const of = (list: string) =>
          slices
            .filter((found) => found.list === list)
            .map((found) => JSON.parse(String(found.text)) as unknown);
        expect(of('servers')).toEqual(value.data.servers);
        expect(of('skills')).toEqual(value.data.skills);
        expect(JSON.parse(skeleton)).toEqual({ ...value, data: { ...value.data, servers: [], skills: [] } });
      }),
      { numRuns: 200 },
    );
  });

  it('finds lists at the top level only', () => {
    // JSON writes -0 as 0.
    const answer = file.map(
      ({ data, version }) =>
        JSON.parse(JSON.stringify({ ...data, version, data })) as typeof data & { data: unknown },
    );
    fc.assert(
      fc.property(answer, (value) => {
        const slicer = new JsonSlicer(Buffer.from(JSON.stringify(value)), ['servers'], MAX, 'root');
        const elements = [...slicer.slices()].map(({ text }) => JSON.parse(String(text)) as unknown);
        expect(elements).toEqual(value.servers);
        expect(JSON.parse(slicer.skeleton)).toEqual({ ...value, servers: [] });
      }),
    );
    const twice = Buffer.from('{"servers":[],"s\\u0065rvers":[1]}');
    expect(() => [...new JsonSlicer(twice, ['servers'], MAX, 'root').slices()]).toThrow(RepeatedKeyError);
  });

  it('accepts no text that JSON.parse refuses, truncated or altered anywhere', () => {
    const text = JSON.stringify(
      { data: { servers: [{ a: [1, 'x\\"', { b: null }] }, 2.5e3, 'y]'], skills: [] }, z: true },
      null,
      1,
    );
    for (let at = 0; at < text.length; at += 1) {
      expect({ at, reads: reads(text.slice(0, at)) }).toEqual({ at, reads: parses(text.slice(0, at)) });
      for (const put of ['"', '}', ']', '{', '[', ',', ':', ' ', '1', '\\', 'x']) {
        const altered = text.slice(0, at) + put + text.slice(at + 1);
        // A repeated list is legal JSON but refused on purpose; no single change creates one here.
        expect({ altered, reads: reads(altered) }).toEqual({ altered, reads: parses(altered) });
      }
    }
  });

  it('keeps the spelling of numbers and strings, and drops only white space between tokens', () => {
    const { slices } = slice(
      '{"data":{"servers":[ { "n" : 12345678901234567890 , "f": 1.0,\n"s": "a  \\u00e9 b" } ]}}',
    );
    expect(slices[0]?.text).toBe('{"n":12345678901234567890,"f":1.0,"s":"a  \\u00e9 b"}');
  });

  it('does not join tokens separated by white space', () => {
    expect(reads('{"data":{"servers":[1 2]}}')).toBe(false);
    expect(reads('{"data":{"servers":[tr ue]}}')).toBe(false);
    expect(reads('{"data":{"servers":[- 1]}}')).toBe(false);
  });

  it('reads long texts without exhausting the stack', () => {
    const text = `{"a":"${'\\n'.repeat(8 * 1024 * 1024)}"}`;
    expect(JsonSlicer.whole(Buffer.from(` ${text} `), text.length).text === text).toBe(true);
  });

  it('drops the text of an element that is too long, and continues after it', () => {
    const long = `["${'é'.repeat(MAX / 2)}"]`;
    const { slices } = slice(`{"data":{"servers":[1,${long}, "${'x'.repeat(MAX - 2)}" ,2]}}`);
    expect(slices.map(({ text, bytes }) => [text?.length ?? null, bytes])).toEqual([
      [1, 1],
      [null, MAX + 4],
      [MAX, MAX],
      [1, 1],
    ]);
  });

  it('counts keys and levels', () => {
    const { slices } = slice('{"data":{"servers":[{"a":1,"a":{"b":[":"]}}, 7]}}');
    expect(slices.map(({ keys, depth }) => ({ keys, depth }))).toEqual([
      { keys: 3, depth: 3 },
      { keys: 0, depth: 0 },
    ]);
  });

  it('counts values, including arrays and objects', () => {
    const count = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? Object.values(value).reduce<number>((sum, item) => sum + count(item), 1)
        : 1;
    fc.assert(
      fc.property(spelled, (text) => {
        const { slices } = slice(text);
        for (const found of slices) expect(found.values).toBe(count(JSON.parse(String(found.text))));
      }),
    );
  });

  it('slices only the lists below data', () => {
    const { slices, skeleton } = slice(
      '{"servers":[1],"x":{"data":{"servers":[2]}},"data":{"y":{"servers":[3]}}}',
    );
    expect(slices).toEqual([]);
    expect(JSON.parse(skeleton)).toEqual({
      servers: [1],
      x: { data: { servers: [2] } },
      data: { y: { servers: [3] } },
    });
  });

  it.each([
    ['{"data":{"servers":[],"servers":[]}}', 'data.servers'],
    ['{"data":{"servers":[],"skills":[],"skills":[1]}}', 'data.skills'],
    ['{"data":{"servers":[1],"s\\u0065rvers":[2]}}', 'data.servers'],
    ['{"data":{"servers":[1]},"data":{"skills":[2]}}', 'data'],
    ['{"d\\u0061ta":{"servers":[1]},"data":{"servers":[2]}}', 'data'],
  ])('refuses a second list or a second data, however spelled: %s', (text, path) => {
    expect(() => slice(text)).toThrow(new RepeatedKeyError(path));
  });

  it('finds a list with any spelling of its key', () => {
    const { slices } = slice('{"\\u0064ata":{"\\u0073ervers":[1],"skil\\ls":[2]}}');
    expect(slices.map(({ list, text }) => [list, text])).toEqual([['servers', '1']]);
  });

  it('counts the keys around the elements', () => {
    expect(slice('{"a":{"b":1,"b":":"},"data":{"servers":[{"c":1}]}}').skeletonKeys).toBe(5);
  });
});
