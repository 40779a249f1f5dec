import { expect, it } from 'vitest';
import { accessRequestText, questionOf, subjectOf } from './access-request.js';

it.each([
  ['#/catalogue/acme', { registry: 'acme', type: '', entry: '' }, 'registry acme'],
  ['#/connect/acme', { registry: 'acme', type: '', entry: '' }, 'registry acme'],
  [
    '#/catalogue/acme/server/com.a%2Fb/1.0.0',
    { registry: 'acme', type: '', entry: 'com.a/b' },
    'server com.a/b in the registry acme',
  ],
  [
    '#/catalogue/acme/skill/com.a%2Fb',
    { registry: 'acme', type: 'skill', entry: 'com.a/b' },
    'skill com.a/b in the registry acme',
  ],
  ['#/publish/skill/com.a%2Fb', { type: 'skill', entry: 'com.a/b', action: 'manage' }, 'skill com.a/b'],
  ['#/registries/acme', { registry: 'acme', action: 'manage' }, 'registry acme'],
])('asks about the page %s', (hash, question, subject) => {
  expect(questionOf(hash)).toEqual(question);
  expect(subjectOf(question)).toBe(subject);
});

it.each([
  '',
  '#/',
  '#/catalogue',
  '#/publish',
  '#/registries',
  '#/registries/+new',
  '#/sources/main',
  '#/access',
])('has no question for %j', (hash) => expect(questionOf(hash)).toBeNull());

const REQUEST = {
  address: 'https://registry.example/#/catalogue/acme',
  subject: 'registry acme',
  person: '',
  at: new Date('2026-01-02T03:04:05Z'),
};

it('contains what an administrator needs to find the refusal', () => {
  expect(
    accessRequestText({
      ...REQUEST,
      person: 'Ada (ada)',
      missing: ['team platform', 'org acme'],
      requestId: 'r-1',
      code: 'registry_forbidden',
      explanation: 'https://registry.example/#/access?as=%7B%7D',
    }),
  ).toBe(
    [
      'Hello, could I get access to the registry acme?',
      '',
      'I am logged in as Ada (ada).',
      'I lack these claims: team platform, org acme.',
      'Page: https://registry.example/#/catalogue/acme',
      'Request: r-1 (registry_forbidden, 2026-01-02T03:04:05.000Z)',
      'For administrators, why: https://registry.example/#/access?as=%7B%7D',
    ].join('\n'),
  );
});

it('leaves out what is unknown', () => {
  expect(accessRequestText(REQUEST)).toBe(
    'Hello, could I get access to the registry acme?\n\nPage: https://registry.example/#/catalogue/acme',
  );
});
