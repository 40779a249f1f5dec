import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { reasonText, versionRange } from '../source-kinds/admission-settings.dto.js';
import {
  IsBoolean,
  IsInt,
  IsOptional,
  IsText,
  type Unchecked,
  Validate,
  ValidateClass,
  ValidateNested,
} from '../validation/class-validation.js';
import {
  below,
  cursorParameter,
  emptyOr,
  flagParameter,
  globs,
  type Issue,
  issue,
  limitParameter,
  listOf,
  MAX_PAGE,
  oneOf,
  parseTimestamp,
  storableText,
  text,
  textParameter,
  textUpTo,
  wordParameter,
} from '../validation/value-checks.js';
import { ITEM_STATUSES } from './admission.entity.js';
import { POLICIES } from './verdict.js';

const MAX_NAME = 300;
const MAX_COMMENT = 2_000;
const MAX_PACKAGES = 100;
const MAX_DIGESTS = 200;

/** reference/admission. Unknown and empty parameters are ignored. */
export class AdmissionListParameters {
  @ApiPropertyOptional({ enum: ITEM_STATUSES, default: 'held' })
  @IsOptional()
  @Validate(emptyOr(wordParameter(ITEM_STATUSES)))
  status?: string;

  @ApiPropertyOptional({ description: 'Only items of the source with this name', maxLength: MAX_NAME })
  @IsOptional()
  @Validate(textParameter('the name of a source', MAX_NAME))
  source?: string;

  @ApiPropertyOptional({ enum: ENTRY_TYPE_NAMES })
  @IsOptional()
  @Validate(emptyOr(wordParameter(ENTRY_TYPE_NAMES)))
  type?: string;

  @ApiPropertyOptional({ description: 'Only items of the entry with exactly this name', maxLength: MAX_NAME })
  @IsOptional()
  @Validate(textParameter('a name', MAX_NAME))
  name?: string;

  @ApiPropertyOptional({ enum: POLICIES, description: 'Only items held by this policy' })
  @IsOptional()
  @Validate(emptyOr(wordParameter(POLICIES)))
  reason?: string;

  @ApiPropertyOptional({ type: 'boolean', description: 'Only what the caller published' })
  @IsOptional()
  @Validate(emptyOr(flagParameter))
  mine?: string;

  @ApiPropertyOptional({ type: 'boolean', description: 'Only what the caller can decide now' })
  @IsOptional()
  @Validate(emptyOr(flagParameter))
  decidable?: string;

  @ApiPropertyOptional({ description: '`metadata.nextCursor` of the previous page; includes its filters' })
  @IsOptional()
  @Validate(cursorParameter)
  cursor?: string;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: MAX_PAGE,
    default: MAX_PAGE,
    description: 'Maximum number of items on a page, which ends at 1 MiB',
  })
  @IsOptional()
  @Validate(emptyOr(limitParameter))
  limit?: string;
}

/** The filters of a list, as its cursors carry them. */
export class AdmissionFilters {
  @IsOptional() @Validate(storableText) readonly status?: string;
  @IsOptional() @Validate(storableText) readonly source?: string;
  @IsOptional() @Validate(storableText) readonly type?: string;
  @IsOptional() @Validate(storableText) readonly name?: string;
  @IsOptional() @Validate(storableText) readonly reason?: string;
  @IsOptional() @IsBoolean() readonly mine?: boolean;
  @IsOptional() @IsBoolean() readonly decidable?: boolean;
}

/** A cursor: the query, and the last item of the page. */
export class AdmissionCursor {
  @ValidateNested(() => AdmissionFilters) readonly filters: AdmissionFilters;
  @IsInt(1, MAX_PAGE) readonly limit: number;
  @Validate(timestamp) readonly at: string;
  @Validate(uuid) readonly id: string;
}

function timestamp(value: unknown): Issue[] {
  return typeof value === 'string' && parseTimestamp(value) ? [] : issue('must be a time');
}

function uuid(value: unknown): Issue[] {
  return typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)
    ? []
    : issue('must be a UUID');
}

const sha256 = text((value) =>
  /^[0-9a-fA-F]{64}$/.test(value) ? undefined : 'must be a SHA-256 digest of 64 hexadecimal digits',
);

/** A decision, bound to the digest that the caller saw. */
export class DecisionBody {
  @ApiProperty({ description: 'The `digest` of the item', pattern: '^[0-9a-f]{64}$' })
  @Validate(sha256)
  digest: string;

  @ApiPropertyOptional({ maxLength: MAX_COMMENT })
  @IsOptional()
  @Validate(textUpTo(MAX_COMMENT))
  comment?: string;
}

/** A comment, bound to the digest that the caller saw. */
@ValidateClass<CommentBody>(({ comment }) =>
  typeof comment === 'string' && comment.trim() === '' ? below(['comment'], issue('must not be empty')) : [],
)
export class CommentBody {
  @ApiProperty({ description: 'The `digest` of the item', pattern: '^[0-9a-f]{64}$' })
  @Validate(sha256)
  digest: string;

  @ApiProperty({ maxLength: MAX_COMMENT })
  @Validate(textUpTo(MAX_COMMENT))
  comment: string;
}

export class BlockedPackageBody {
  @IsText() registryType: string;
  /** A glob. Without a tag or digest, it also matches images that have one. */
  @Validate(glob) identifier: string;
  /** One version or an npm range. Packages without a version match too. */
  @IsOptional() @IsText() version?: string;
}

/** What to keep out of every source: members are ANDed, the values within one ORed. */
@ValidateClass<BlockBody>(namesSomething)
export class BlockBody {
  @IsOptional() @Validate(someGlobs) names?: string[];
  @ApiPropertyOptional({ enum: ENTRY_TYPE_NAMES, isArray: true })
  @IsOptional()
  @Validate(listOf(oneOf(...ENTRY_TYPE_NAMES), { notEmpty: true, unique: true }))
  types?: EntryType[];
  /** An npm range that includes prereleases. Versions that are not semver match only `*`. */
  @IsOptional() @Validate(versionRange) versions?: string;
  @IsOptional()
  @ValidateNested(() => BlockedPackageBody, { each: true, notEmpty: true, most: MAX_PACKAGES })
  packages?: BlockedPackageBody[];
  /** Globs for the URLs of remotes. */
  @IsOptional() @Validate(someGlobs) remotes?: string[];
  @IsOptional() @Validate(listOf(sha256, { notEmpty: true, most: MAX_DIGESTS })) digests?: string[];
  @Validate(reasonText) reason: string;
}

function namesSomething(block: Unchecked<BlockBody>): Issue[] {
  return Object.entries(block).some(([key, value]) => key !== 'reason' && value !== undefined)
    ? []
    : issue('names nothing: at least one of names, types, versions, packages, remotes, digests is required');
}

function someGlobs(value: unknown): Issue[] {
  return Array.isArray(value) && value.length === 0 ? issue('must not be an empty list') : globs(value);
}

function glob(value: unknown): Issue[] {
  return globs([value]).map(({ message }) => ({ path: [], message }));
}
