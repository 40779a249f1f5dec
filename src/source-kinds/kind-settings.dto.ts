import { ApiProperty } from '@nestjs/swagger';
import { type Claims, CLAIMS_SCHEMA } from '../claims/claims.js';
import {
  IsClaims,
  IsDuration,
  IsHttpUrl,
  IsInt,
  IsOptional,
  IsText,
  type Unchecked,
  Validate,
  ValidateClass,
  ValidateNested,
} from '../validation/class-validation.js';
import { httpUrl } from '../validation/urls.js';
import {
  below,
  claims,
  dnsLabel,
  duration,
  globs,
  type Issue,
  issue,
  listOf,
  parseDuration,
  text,
} from '../validation/value-checks.js';
import { parseGitRepository } from './git-repository.js';

const COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

const MAX_NAME_RULES = 200;
const MAX_NAME_GLOBS = 20;
const MAX_APPROVALS = 20;
const SHORTEST_RELIST_MS = 60_000;
const HTTP_AUTH = ['username', 'passwordFile'] as const;
const SSH_AUTH = ['privateKeyFile', 'knownHostsFile'] as const;

/** A registry file on the server or at a URL. */
@ValidateClass<FileSettings>((file) => {
  if (file.path === undefined && file.url === undefined) return issue('needs a path or a url');
  return file.path !== undefined && file.url !== undefined
    ? issue('has a path and a url: only one of them is allowed')
    : [];
})
export class FileSettings {
  @IsOptional() @IsText(filePath) path?: string;
  @IsOptional() @IsHttpUrl() url?: string;
}

/** User name and password for http(s); private key and known hosts for ssh. */
export class GitAuthSettings {
  @IsOptional() @IsText() username?: string;
  @IsOptional() @IsText() passwordFile?: string;
  @IsOptional() @IsText() privateKeyFile?: string;
  @IsOptional() @IsText() knownHostsFile?: string;
}

/** A registry file in a Git repository, on the default branch unless a branch, tag or commit is given. */
@ValidateClass<GitSettings>((git) => {
  const given = (['branch', 'tag', 'commit'] as const).filter((key) => git[key] !== undefined);
  return given.length > 1
    ? issue(`has ${given.join(' and ')}: at most one of branch, tag and commit is allowed`)
    : below(['auth'], authIssues(git));
})
export class GitSettings {
  @Validate(repository) repository: string;
  @IsOptional() @IsText(refName) branch?: string;
  @IsOptional() @IsText(refName) tag?: string;
  @IsOptional()
  @Validate(
    text((value) =>
      COMMIT.test(value) ? undefined : 'must be a full commit id: 40 or 64 hexadecimal digits',
    ),
  )
  commit?: string;
  @IsOptional() @IsText(pathInRepository) path?: string;
  @IsOptional() @ValidateNested(() => GitAuthSettings) auth?: GitAuthSettings;
}

/** The base URL of another MCP registry, and its bearer token if it requires one. */
export class ApiSettings {
  @IsHttpUrl({ bare: true }) endpoint: string;
  @IsOptional() @IsDuration() timeout?: string;
  @IsOptional() @IsText() tokenFile?: string;
}

/** The claims required to publish names matching these globs (reference/publishing). */
export class NameRuleSettings {
  @Validate(nameGlobs) include: string[];
  @ApiProperty(CLAIMS_SCHEMA) @IsClaims(ownerClaims) claims: Claims;
}

/** Who approves publications of these names, and how many of them (reference/admission). */
export class ReviewRuleSettings {
  @Validate(nameGlobs) names: string[];
  /** An array lists alternatives. */
  @ApiProperty(CLAIMS_SCHEMA) @IsClaims(ownerClaims) reviewers: Claims;
  @IsOptional() @IsInt(1, MAX_APPROVALS) approvals?: number;
}

/** A source filled by publishing. The first rule in `names` that matches a name reserves it; unmatched names are free. */
export class ManagedSettings {
  @IsOptional()
  @ValidateNested(() => NameRuleSettings, { each: true, most: MAX_NAME_RULES })
  names?: NameRuleSettings[];
  /** The first rule that matches a name decides who reviews it; unmatched names need no review. */
  @IsOptional()
  @ValidateNested(() => ReviewRuleSettings, { each: true, most: MAX_NAME_RULES })
  review?: ReviewRuleSettings[];
}

/** Custom resources in a cluster, in all namespaces if none are given. */
export class KubernetesSettings {
  @IsOptional() @Validate(listOf(dnsLabel, { unique: true })) namespaces?: string[];
  /** Interval between full lists, in addition to the watch; one hour if absent. */
  @IsOptional() @Validate(relistInterval) relistInterval?: string;
}

// The interval has a minimum, because each relist reads all objects.
function relistInterval(value: unknown): Issue[] {
  const issues = duration(value);
  const isTooShort = (parseDuration(String(value)) ?? 0) < SHORTEST_RELIST_MS;
  return issues.length === 0 && isTooShort ? issue('must be at least 1m') : issues;
}

// The number of globs is limited, because each published name is compared with all of them.
function nameGlobs(value: unknown): Issue[] {
  if (Array.isArray(value) && value.length === 0) return issue('must not be an empty list');
  if (Array.isArray(value) && value.length > MAX_NAME_GLOBS)
    return issue(`must not have more than ${MAX_NAME_GLOBS} items`);
  return globs(value);
}

function ownerClaims(value: unknown): Issue[] {
  const issues = claims(value);
  return issues.length === 0 && Object.keys(Object(value)).length === 0
    ? issue('must have at least one claim: every caller satisfies an empty map')
    : issues;
}

// PATH_MAX on Linux: longer paths cannot exist.
function filePath(value: string): string | undefined {
  return Buffer.byteLength(value) > 4_096 ? 'must have at most 4096 bytes' : undefined;
}

function repository(value: unknown): Issue[] {
  if (parseGitRepository(value)) return [];
  const [found] = httpUrl({ bare: true })(value);
  const hint = /https:\/\/ URL$/.test(found?.message ?? '')
    ? ', or ssh://user@host/path or user@host:path'
    : '';
  return issue(`${found?.message ?? 'is not a supported address'}${hint}`);
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
      .flatMap((key) => below([key], issue(`is not allowed for ${isSsh ? 'ssh' : 'http:// and https://'}`))),
  ];
}

// A subset of git-check-ref-format(1): excludes anything that git could parse as an option, a range or a pattern.
function refName(value: string): string | undefined {
  const wrong = /^[-/.]|[/.]$|\.\.|\/\/|@\{|[\s~^:?*[\\]|\.lock$/.test(value);
  return wrong ? 'is not a valid branch or tag name' : undefined;
}

function pathInRepository(value: string): string | undefined {
  const steps = value.split('/');
  const wrong = steps.includes('..') || steps[0] === '' || value.includes('\\');
  return wrong ? 'must be a path inside the repository: relative, with "/", without ".."' : undefined;
}
