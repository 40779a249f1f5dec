import { expect, it } from 'vitest';
import { resolveApart } from './name-resolution.js';

const failureOf = (hostname: string) =>
  new Promise<Error | null>((done) => {
    resolveApart(hostname, (error) => done(error));
  });

it('reports a process that cannot be started to every caller, and tries again the next time', async () => {
  // Node throws for a NUL, just as it throws if there is not enough memory for a process.
  const names = ['a\0b', 'a\0b'];
  expect(await Promise.all(names.map(failureOf))).toEqual(names.map(() => expect.any(Error) as Error));
  expect(await failureOf('a\0b')).toBeInstanceOf(Error);
});

it('refuses a name that would be read as an option, and resolves others', async () => {
  expect(await failureOf('-h')).toMatchObject({ code: 'ENOTFOUND' });
  expect(await failureOf('localhost')).toBeNull();
});
