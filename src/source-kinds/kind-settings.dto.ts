import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  ArrayUnique,
  IsArray,
  IsIn,
  IsInt,
  IsOptional,
  Matches,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { type Claims, CLAIMS_SCHEMA } from '../claims/claims.js';
import { type Unchecked, ValidateClass } from '../validation/class-validation.js';
import {
  IsBaseUrl,
  IsDnsLabel,
  IsDuration,
  IsGlob,
  IsHttpUrl,
  IsSomeClaims,
  IsText,
  textDecorator,
} from '../validation/decorators.js';
import { urlProblem } from '../validation/urls.js';
import { below, type Issue, issue } from '../validation/value-checks.js';
import { MEMBER_KINDS, type MemberKind } from './member-kinds.js';
import { parseGitRepository } from './git-repository.js';
import { SOURCE_FORMATS, type SourceFormat } from './source-formats.js';

const COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

const MAX_NAME_RULES = 200;
/** Few, because each published name is compared with every pattern. */
const MAX_NAME_GLOBS = 20;
const HTTP_AUTH = ['username', 'passwordFile'] as const;
const SSH_AUTH = ['privateKeyFile', 'knownHostsFile'] as const;

// PATH_MAX on Linux: longer paths cannot exist.
const IsFilePath = textDecorator('isFilePath', (text) =>
  Buffer.byteLength(text) > 4_096 ? 'must have at most 4096 bytes' : undefined,
);

const IsRepository = textDecorator('isRepository', (text) => {
  if (parseGitRepository(text)) return undefined;
  const problem = urlProblem(text, { bare: true }) ?? 'is not a supported address';
  return problem.endsWith('https:// URL') ? `${problem}, or ssh://user@host/path or user@host:path` : problem;
});

// A subset of git-check-ref-format(1): excludes anything that git could parse as an option, a range or a pattern.
const IsRefName = textDecorator('isRefName', (text) =>
  /^[-/.]|[/.]$|\.\.|\/\/|@\{|[\s~^:?*[\\]|\.lock$/.test(text)
    ? 'is not a valid branch or tag name'
    : undefined,
);

const IsPathInRepository = textDecorator('isPathInRepository', (text) => {
  const steps = text.split('/');
  return steps.includes('..') || steps[0] === '' || text.includes('\\')
    ? 'must be a path inside the repository: relative, with "/", without ".."'
    : undefined;
});

/** A namespace that is valid in skill and plugin documents. */
const IsNamespace = textDecorator('isNamespace', (text) =>
  /^[a-zA-Z0-9][a-zA-Z0-9._-]{2,127}$/.test(text)
    ? undefined
    : 'must have 3 to 128 letters, digits, dots, underscores and hyphens, and begin with a letter or digit',
);

/** A file on the server or at a URL. */
@ValidateClass<FileSettings>((file) => {
  if (file.path === undefined && file.url === undefined) return issue('needs a path or a url');
  if (file.path !== undefined && file.url !== undefined)
    return issue('has a path and a url: only one of them is allowed');
  if (file.format === 'skills')
    return below(['format'], issue('cannot be "skills": skills are folders; use a git source'));
  if (file.format === 'marketplace' && file.namespace === undefined)
    return below(['namespace'], issue('is required for format "marketplace"'));
  return namespaceIssues(file);
})
export class FileSettings {
  @IsOptional() @IsFilePath() path?: string;
  @IsOptional() @IsHttpUrl() url?: string;
  /** Detected from the content if absent. */
  @IsOptional() @IsIn(SOURCE_FORMATS) format?: SourceFormat;
  /** The namespace of plugins; required for a marketplace. */
  @IsOptional() @IsNamespace() namespace?: string;
}

/** User name and password for http(s); private key and known hosts for ssh. */
export class GitAuthSettings {
  @IsOptional() @IsText() username?: string;
  @IsOptional() @IsText() passwordFile?: string;
  @IsOptional() @IsText() privateKeyFile?: string;
  @IsOptional() @IsText() knownHostsFile?: string;
}

/** A file or folder in a Git repository, on the default branch unless a branch, tag or commit is given. */
@ValidateClass<GitSettings>((git) => {
  const given = (['branch', 'tag', 'commit'] as const).filter((key) => git[key] !== undefined);
  return given.length > 1
    ? issue(`has ${given.join(' and ')}: at most one of branch, tag and commit is allowed`)
    : [...namespaceIssues(git), ...below(['auth'], authIssues(git))];
})
export class GitSettings {
  @IsRepository() repository: string;
  @IsOptional() @IsRefName() branch?: string;
  @IsOptional() @IsRefName() tag?: string;
  @IsOptional()
  @IsText()
  @Matches(COMMIT, { message: 'must be a full commit id: 40 or 64 hexadecimal digits' })
  commit?: string;
  /** A file or folder; the root if absent. */
  @IsOptional() @IsPathInRepository() path?: string;
  /** Detected from the content if absent. */
  @IsOptional() @IsIn(SOURCE_FORMATS) format?: SourceFormat;
  /** The namespace of plugins and skills; derived from the repository's address if absent. */
  @IsOptional() @IsNamespace() namespace?: string;
  @IsOptional() @ValidateNested() @Type(() => GitAuthSettings) auth?: GitAuthSettings;
}

/** The base URL of another MCP registry, and its bearer token if it requires one. */
export class ApiSettings {
  @IsBaseUrl() endpoint: string;
  // Node's timers fire at once if they are set to more than 24 days.
  @IsOptional() @IsDuration('1s', '24h') timeout?: string;
  @IsOptional() @IsText() tokenFile?: string;
}

/** The claims required to publish names matching these globs (reference/publishing). */
export class NameRuleSettings {
  @IsArray() @ArrayNotEmpty() @ArrayMaxSize(MAX_NAME_GLOBS) @IsGlob({ each: true }) include: string[];
  @ApiProperty(CLAIMS_SCHEMA) @IsSomeClaims() claims: Claims;
}

/** Who approves publications of these names, and how many of them (reference/admission). */
export class ReviewRuleSettings {
  @IsArray() @ArrayNotEmpty() @ArrayMaxSize(MAX_NAME_GLOBS) @IsGlob({ each: true }) names: string[];
  /** An array lists alternatives. */
  @ApiProperty(CLAIMS_SCHEMA) @IsSomeClaims() reviewers: Claims;
  @IsOptional() @IsInt() @Min(1) @Max(20) approvals?: number;
  /** Only skills and plugins that contain one of these. They are held until their content is stored. */
  @IsOptional()
  @IsArray()
  @ArrayNotEmpty()
  @IsIn(MEMBER_KINDS, { each: true })
  @ArrayUnique()
  contains?: MemberKind[];
}

/** A source filled by publishing. The first rule in `names` that matches a name reserves it; unmatched names are free. */
export class ManagedSettings {
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_NAME_RULES)
  @ValidateNested({ each: true })
  @Type(() => NameRuleSettings)
  names?: NameRuleSettings[];
  /** The first rule that matches a name decides who reviews it; unmatched names need no review. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_NAME_RULES)
  @ValidateNested({ each: true })
  @Type(() => ReviewRuleSettings)
  review?: ReviewRuleSettings[];
}

/** Custom resources in a cluster, in all namespaces if none are given. */
export class KubernetesSettings {
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(1_000)
  @IsDnsLabel({ each: true })
  @ArrayUnique()
  namespaces?: string[];
  /** Interval between full lists, which read all objects, in addition to the watch; one hour if absent. */
  @IsOptional() @IsDuration('1m') relistInterval?: string;
}

function namespaceIssues({ format, namespace }: Unchecked<FileSettings | GitSettings>): Issue[] {
  if (namespace === undefined || (format !== 'registry' && format !== 'servers')) return [];
  return below(['namespace'], issue(`is not used by the format ${format}, whose documents have names`));
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
