import { ApiProperty } from '@nestjs/swagger';
import { CLAIMS_SCHEMA } from '../claims/claim-rules.js';
import type { Claims } from '../claims/claims.js';
import { Checked, Optional, Rule, Section, SectionList, type Unchecked } from '../validation/class-checks.js';
import { below, type Issue, issue } from '../validation/problems.js';
import { httpUrl } from '../validation/urls.js';
import {
  claims,
  dnsLabel,
  duration,
  globs,
  listOf,
  parseDuration,
  text,
} from '../validation/value-checks.js';
import { parseGitRepository } from './git-repository.js';

const COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

const MAX_NAME_RULES = 200;
const MAX_NAME_GLOBS = 20;
const SHORTEST_RELIST_MS = 60_000;
const HTTP_AUTH = ['username', 'passwordFile'] as const;
const SSH_AUTH = ['privateKeyFile', 'knownHostsFile'] as const;

/** A registry file on this machine or behind a URL. */
@Rule<FileSettings>((file) => {
  if (file.path === undefined && file.url === undefined) return issue('needs a path or a url');
  return file.path !== undefined && file.url !== undefined
    ? issue('has a path and a url: exactly one is possible')
    : [];
})
export class FileSettings {
  @Optional() @Checked(text(filePath)) path?: string;
  @Optional() @Checked(httpUrl()) url?: string;
}

/** A user name and a password for http(s), a key and the keys of known hosts for ssh. */
export class GitAuthSettings {
  @Optional() @Checked(text()) username?: string;
  @Optional() @Checked(text()) passwordFile?: string;
  @Optional() @Checked(text()) privateKeyFile?: string;
  @Optional() @Checked(text()) knownHostsFile?: string;
}

/** A registry file in a Git repository; without branch, tag and commit the default branch is read. */
@Rule<GitSettings>((git) => {
  const given = (['branch', 'tag', 'commit'] as const).filter((key) => git[key] !== undefined);
  return given.length > 1
    ? issue(`has ${given.join(' and ')}: at most one of branch, tag and commit is possible`)
    : below(['auth'], authIssues(git));
})
export class GitSettings {
  @Checked(repository) repository: string;
  @Optional() @Checked(text(refName)) branch?: string;
  @Optional() @Checked(text(refName)) tag?: string;
  @Optional()
  @Checked(
    text((value) =>
      COMMIT.test(value) ? undefined : 'must be a full commit id: 40 or 64 hexadecimal digits',
    ),
  )
  commit?: string;
  @Optional() @Checked(text(pathInRepository)) path?: string;
  @Optional() @Section(() => GitAuthSettings) auth?: GitAuthSettings;
}

/** The base of another MCP registry, and the bearer token it asks for. */
export class ApiSettings {
  @Checked(httpUrl({ bare: true })) endpoint: string;
  @Optional() @Checked(duration) timeout?: string;
  @Optional() @Checked(text()) tokenFile?: string;
}

/** Who may publish the names that these globs match (contract §7). */
export class NameRuleSettings {
  @Checked(nameGlobs) include: string[];
  @ApiProperty(CLAIMS_SCHEMA) @Checked(ownerClaims) claims: Claims;
}

/** Filled by publishing. The first of `names` whose globs have a name says whose it is; names of none are free. */
@Rule<ManagedSettings>(({ names }) =>
  Array.isArray(names) && names.length > MAX_NAME_RULES
    ? below(['names'], issue(`must not have more than ${MAX_NAME_RULES} items`))
    : [],
)
export class ManagedSettings {
  @Optional() @SectionList(() => NameRuleSettings) names?: NameRuleSettings[];
}

/** Custom resources of a cluster. No namespaces: all of them. */
export class KubernetesSettings {
  @Optional() @Checked(listOf(dnsLabel, { unique: true })) namespaces?: string[];
  /** How often everything is listed anew, though it is watched; an hour when absent. */
  @Optional() @Checked(relistInterval) relistInterval?: string;
}

// Each time, all objects are read.
function relistInterval(value: unknown): Issue[] {
  const issues = duration(value);
  const isTooShort = (parseDuration(String(value)) ?? 0) < SHORTEST_RELIST_MS;
  return issues.length === 0 && isTooShort ? issue('must be at least 1m') : issues;
}

// Each published name is compared with them all.
function nameGlobs(value: unknown): Issue[] {
  if (Array.isArray(value) && value.length === 0) return issue('must not be an empty list');
  if (Array.isArray(value) && value.length > MAX_NAME_GLOBS)
    return issue(`must not have more than ${MAX_NAME_GLOBS} items`);
  return globs(value);
}

function ownerClaims(value: unknown): Issue[] {
  const issues = claims(value);
  return issues.length === 0 && Object.keys(Object(value)).length === 0
    ? issue('must name at least one claim: an empty map is held by everybody')
    : issues;
}

// PATH_MAX of Linux; longer ones exist nowhere, and looking for them takes long.
function filePath(value: string): string | undefined {
  return Buffer.byteLength(value) > 4_096 ? 'must have at most 4096 bytes' : undefined;
}

function repository(value: unknown): Issue[] {
  if (parseGitRepository(value)) return [];
  const [found] = httpUrl({ bare: true })(value);
  const hint = /https:\/\/ URL$/.test(found?.message ?? '')
    ? ', or ssh://user@host/path or user@host:path'
    : '';
  return issue(`${found?.message ?? 'is not possible'}${hint}`);
}

function authIssues({ repository: url, auth }: Unchecked<GitSettings>): Issue[] {
  const isSsh = parseGitRepository(url)?.protocol === 'ssh';
  const needed = isSsh ? SSH_AUTH : HTTP_AUTH;
  if (auth === undefined) return isSsh ? issue(`is required for ssh, with ${needed.join(' and ')}`) : [];
  if (!(auth instanceof GitAuthSettings)) return [];
  const other = isSsh ? HTTP_AUTH : SSH_AUTH;
  return [
    ...needed.filter((key) => auth[key] === undefined).flatMap((key) => below([key], issue('is required'))),
    ...other
      .filter((key) => auth[key] !== undefined)
      .flatMap((key) => below([key], issue(`is not possible for ${isSsh ? 'ssh' : 'http:// and https://'}`))),
  ];
}

// git-check-ref-format(1), as far as it matters: nothing that git could take for an option, a range or a pattern.
function refName(value: string): string | undefined {
  const wrong = /^[-/.]|[/.]$|\.\.|\/\/|@\{|[\s~^:?*[\\]|\.lock$/.test(value);
  return wrong ? 'is not a possible name of a branch or tag' : undefined;
}

function pathInRepository(value: string): string | undefined {
  const steps = value.split('/');
  const wrong = steps.includes('..') || steps[0] === '' || value.includes('\\');
  return wrong ? 'must be a path inside the repository: relative, with "/", without ".."' : undefined;
}
