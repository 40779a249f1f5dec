import { expect, it } from 'vitest';
import { Annotations } from './annotations.js';

const claimsOf = (text: string | undefined) =>
  new Annotations(text === undefined ? {} : { 'toolhive.stacklok.dev/authz-claims': text }).claims();

it.each<[string | undefined, object]>([
  [undefined, {}],
  ['', {}],
  [' ', {}],
  ['{}', {}],
  ['{"org":"acme"}', { org: 'acme' }],
  ['{"org":["a","b"],"team":""}', { org: ['a', 'b'], team: '' }],
])('claims annotated as %j are %j', (text, claims) => expect(claimsOf(text)).toEqual({ claims }));

it.each([
  ['{org: acme}', 'is not valid JSON'],
  ['{"org":"acme"', 'is not valid JSON'],
  ['[]', 'is no map of claims: must be a map of claims'],
  ['null', 'is no map of claims: must be a map of claims'],
  ['"acme"', 'is no map of claims: must be a map of claims'],
  ['{"level":5}', 'is no map of claims: "level" must be a string or a list of strings'],
  ['{"a":null}', 'is no map of claims: "a" must be a string or a list of strings'],
  ['{"a":{"b":"c"}}', 'is no map of claims: "a" must be a string or a list of strings'],
  ['{"a":["b",["c"]]}', 'is no map of claims: "a" must be a string or a list of strings'],
  ['{"a":[]}', 'is no map of claims: "a" must not be an empty list'],
  ['{"":"a"}', 'is no map of claims: "" a claim must have a name'],
  ['{"__proto__":{"a":"b"}}', 'is no map of claims: "__proto__" is not a possible name of a claim'],
  ['{"exp":"1"}', 'is no map of claims: "exp" is about one token alone and never a claim of anything else'],
  ['{"a":"\\u0000"}', 'is no map of claims: "a" holds characters that cannot be stored'],
  ['{"a":"b","a":"c"}', 'holds the claim "a" twice'],
  ['{"a":"b","\\u0061":"c"}', 'holds the claim "a" twice'],
])('claims annotated as %j are a mistake', (text, problem) =>
  expect(claimsOf(text)).toEqual({ problem: `the annotation toolhive.stacklok.dev/authz-claims ${problem}` }),
);

it.each([[undefined], [null], [[]], ['x'], [{ 'registry-export': 'true' }]])('%j exports nothing', (raw) => {
  expect(new Annotations(raw).isExported).toBe(false);
});
