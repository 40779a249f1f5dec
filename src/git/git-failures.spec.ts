import { expect, it } from 'vitest';
import { couldNotConnect, explainFailure, withoutBeginning } from './git-failures.js';

const NO_SECRETS = { secrets: [], proxySecrets: [] };
const FORBIDDEN = "fatal: unable to access 'https://git.example/': The requested URL returned error: 403";

it.each([
  [`${FORBIDDEN}\n`, 'access denied (403): the account is not allowed to read this repository'],
  [
    `remote: You shall not pass\n${FORBIDDEN}\n`,
    'access denied (403): the account is not allowed to read this repository',
  ],
  [`fatal: remote error: ${FORBIDDEN}\n`, `the server said: ${FORBIDDEN}`],
  [`fatal: remote error: no\n${FORBIDDEN}\n`, `the server said: no ${FORBIDDEN}`],
  // The last message of the server may have several lines, of which git marks only the first.
  [`remote: no\n${FORBIDDEN}\nfatal: early EOF\n`, 'the connection was closed unexpectedly'],
  [`remote: no\n${FORBIDDEN}\nfatal: what now?\n`, 'the server said: no'],
  [`remote: a\rremote: b\nfatal: what now?\n`, 'the server said: a b'],
  [
    "fatal: invalid server response; got 'returned error: 401'\n",
    'its server does not support the smart Git protocol',
  ],
  [withoutBeginning(`…${FORBIDDEN}\n${FORBIDDEN}\nfatal: what now?\n`), 'git failed: fatal: what now?'],
  ['fatal: what now?\n', 'git failed: fatal: what now?'],
])('explains %j', (stderr, explanation) => {
  expect(explainFailure(stderr, NO_SECRETS)).toBe(explanation);
});

it("trusts only git's own messages about a failed connection", () => {
  expect(couldNotConnect("fatal: unable to access 'x': Could not resolve host: x\n")).toBe(true);
  expect(couldNotConnect('fatal: remote error: Could not resolve host\n')).toBe(false);
});
