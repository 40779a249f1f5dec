import { expect, it } from 'vitest';
import { checkShape } from '../validation/class-validation.js';
import { formatPath } from '../validation/value-checks.js';
import { AdmissionSettings } from './admission-settings.dto.js';
import { ManagedSettings } from './kind-settings.dto.js';

const problems = (settings: object, shape: new () => object = AdmissionSettings) =>
  checkShape(shape, settings).issues.map(({ path, message }) => `${formatPath(path)} ${message}`.trim());
const rule = { names: ['a/*'], action: 'hold' };
const review = { names: ['a/*'], reviewers: { team: 'x' } };

it.each<[object, string | null]>([
  [{}, null],
  [{ minAge: '0s', newNames: 'hold', changed: 'admit' }, null],
  [{ minAge: '7' }, 'minAge must be a duration from 0s to 365d with units, such as 365d'],
  [{ newNames: 'reject' }, 'newNames must be one of admit, hold'],
  [{ rules: [{ names: ['a/*'], minAge: '1d', versions: '^1.2' }] }, null],
  [{ rules: [{ names: ['a/*'] }] }, 'rules[0] needs an action, versions or a minAge'],
  [{ rules: [{ names: [], action: 'hold' }] }, 'rules[0].names must not be an empty list'],
  [
    { rules: [{ ...rule, minAge: '1d' }] },
    'rules[0] has both an action and versions or minAge: an action takes no conditions',
  ],
  [
    { rules: [{ names: ['a/*'], versions: 'newest' }] },
    'rules[0].versions must be an npm range of at most 200 characters, such as "^1.2" or ">=2 <3"',
  ],
  [{ rules: Array(200).fill(rule) }, null],
  [{ rules: Array(201).fill(rule) }, 'rules must not have more than 200 items'],
  [{ rules: [{ ...rule, names: Array(20).fill('a/*') }] }, null],
  [{ rules: [{ ...rule, names: Array(21).fill('a/*') }] }, 'rules[0].names must not have more than 20 items'],
  [{ rewrite: [{ registryType: 'npm', registryBaseUrl: 'https://x.example' }] }, null],
  [{ rewrite: [{ registryType: 'oci', from: 'a/', to: 'b/' }] }, null],
  [{ rewrite: [{ registryType: 'npm' }] }, 'rewrite[0] needs a registryBaseUrl, or from and to'],
  [
    { rewrite: [{ registryType: 'npm', from: 'a', to: 'b' }] },
    'rewrite[0] from and to are only possible for registryType oci',
  ],
  [{ rules: [{ ...rule, contains: ['hooks', 'unreadable'] }] }, null],
  [{ rules: [{ ...rule, contains: [] }] }, 'rules[0].contains must not be an empty list'],
  [
    { rules: [{ ...rule, contains: ['skills'] }] },
    'rules[0].contains[0] must be one of hooks, servers, executables, lsp, unreadable',
  ],
  [{ age: '7d' }, 'age is not a known key'],
])('the admission settings $0 have the problem $1', (settings, problem) => {
  const found = problems(settings);
  if (problem === null) expect(found).toEqual([]);
  else if (problem.startsWith('age')) expect(found[0]).toMatch(/^age /);
  else expect(found).toEqual([problem]);
});

it.each<[object, string | null]>([
  [{ review: [review] }, null],
  [{ review: [{ ...review, approvals: 20 }] }, null],
  [{ review: [{ ...review, approvals: 0 }] }, 'review[0].approvals must be a whole number from 1 to 20'],
  [
    { review: [{ ...review, reviewers: {} }] },
    'review[0].reviewers must have at least one claim: every caller satisfies an empty map',
  ],
  [{ review: [{ names: ['a/*'] }] }, 'review[0].reviewers is required'],
  [{ review: [{ ...review, contains: ['hooks'] }] }, null],
  [
    { review: [{ ...review, contains: ['hooks', 'hooks'] }] },
    'review[0].contains[1] "hooks" is already in the list',
  ],
])('the managed settings %j have the problem %s', (settings, problem) => {
  expect(problems(settings, ManagedSettings)).toEqual(problem === null ? [] : [problem]);
});
