import type { Config, SourceConfig } from './config.js';
import { below, type Issue, issue } from './problems.js';

/** Kinds of sources this version can fill. */
const BUILT_KINDS: readonly string[] = ['file', 'git', 'managed', 'kubernetes'];

/**
 * What the contract describes and this version does not do yet: refused, since a setting that is silently ignored is
 * worse than none. A feature removes its line when it arrives.
 */
export function notBuiltIssues({ sources }: Config): Issue[] {
  return sources.flatMap((source, position) => below(['sources', position], notBuiltSourceIssues(source)));
}

/** The same of one source. */
export function notBuiltSourceIssues({ kind }: SourceConfig): Issue[] {
  return BUILT_KINDS.includes(kind)
    ? []
    : below(
        [kind],
        issue(`sources of kind ${kind} are not built yet in this version; use ${BUILT_KINDS.join(' or ')}`),
      );
}
