import type { Config } from './config.js';
import type { Path } from './path.js';
import { below, type Issue, issue } from './problems.js';

type Unbuilt = (config: Config) => { path: Path; sentence: string }[];

/**
 * What the contract describes and this version does not do yet: refused, since a setting that is silently ignored is
 * worse than none. A feature removes its line when it arrives.
 */
const NOT_BUILT: readonly Unbuilt[] = [
  ({ auth }) =>
    auth.mode === 'oauth' && auth.authz !== undefined
      ? [
          {
            path: ['auth', 'authz'],
            sentence: 'authz is not built yet in this version; leave it out for the auth-only mode',
          },
        ]
      : [],
  ({ sources }) =>
    sources.flatMap(({ kind }, position) =>
      kind === 'file'
        ? []
        : [
            {
              path: ['sources', position, kind],
              sentence: `sources of kind ${kind} are not built yet in this version; use file`,
            },
          ],
    ),
  ({ sources }) =>
    sources.flatMap(({ kind, settings }, position) =>
      kind === 'file' && settings['url'] !== undefined
        ? [
            {
              path: ['sources', position, 'file', 'url'],
              sentence: 'file.url is not built yet in this version; use file.path',
            },
          ]
        : [],
    ),
  ({ adminFileRoot }) =>
    adminFileRoot === null
      ? []
      : [
          {
            path: ['adminFileRoot'],
            sentence: 'adminFileRoot is not built yet in this version; leave it out',
          },
        ],
];

/** What of a valid configuration this version can't do. */
export function notBuiltIssues(config: Config): Issue[] {
  return NOT_BUILT.flatMap((find) => find(config)).flatMap(({ path, sentence }) =>
    below(path, issue(sentence)),
  );
}
