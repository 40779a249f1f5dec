import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsDefined,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { IsVersionRange, MAX_REASON } from '../source-kinds/admission-settings.dto.js';
import { type Unchecked, ValidateClass } from '../validation/class-validation.js';
import {
  IsFlag,
  IsGlob,
  IsPageLimit,
  IsStorable,
  IsText,
  IsTimestamp,
  MayBeEmpty,
} from '../validation/decorators.js';
import { type Issue, issue, MAX_PAGE } from '../validation/value-checks.js';
import { ITEM_STATUSES } from './admission.entity.js';
import { POLICIES } from './hold-reason.js';

const MAX_NAME = 300;
const MAX_COMMENT = 2_000;
/** Maximum values per list of a block. */
const MAX_VALUES = 200;

/** Query parameters (reference/admission). Unknown and empty ones are ignored. */
export class AdmissionListParameters {
  @ApiPropertyOptional({ default: 'held' }) @MayBeEmpty() @IsIn(ITEM_STATUSES) status?: string;

  /** Only items of the source with this name */
  @IsOptional() @IsStorable() @MaxLength(MAX_NAME) source?: string;

  @MayBeEmpty() @IsIn(ENTRY_TYPE_NAMES) type?: string;

  /** Only items of the entry with exactly this name */
  @IsOptional() @IsStorable() @MaxLength(MAX_NAME) name?: string;

  /** Only items held by this policy */
  @MayBeEmpty() @IsIn(POLICIES) reason?: string;

  /** Only what the caller published */
  @MayBeEmpty() @IsFlag() mine?: string;

  /** Only what the caller can decide now */
  @MayBeEmpty() @IsFlag() decidable?: string;

  /** `metadata.nextCursor` of the previous page; includes its filters */
  @IsOptional() @IsString() cursor?: string;

  /** Maximum number of items on a page, which ends at 1 MiB */
  @MayBeEmpty() @IsPageLimit(MAX_PAGE) limit?: string;
}

/** The filters of a list, as its cursors carry them. */
export class AdmissionFilters {
  @IsOptional() @IsStorable() readonly status?: string;
  @IsOptional() @IsStorable() readonly source?: string;
  @IsOptional() @IsStorable() readonly type?: string;
  @IsOptional() @IsStorable() readonly name?: string;
  @IsOptional() @IsStorable() readonly reason?: string;
  @IsOptional() @IsBoolean() readonly mine?: boolean;
  @IsOptional() @IsBoolean() readonly decidable?: boolean;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A cursor: the query and either the last item of the page or a position that is not an item's. */
export class AdmissionCursor {
  @IsDefined() @ValidateNested() @Type(() => AdmissionFilters) readonly filters: AdmissionFilters;
  @IsInt() @Min(1) @Max(MAX_PAGE) readonly limit: number;
  @IsTimestamp() readonly at: string;
  @Matches(UUID, { message: 'must be a UUID' }) readonly id: string;
}

const SHA_256 = /^[0-9a-fA-F]{64}$/;
const NOT_EMPTY = { message: 'must not be empty' };
const IS_DIGEST = { message: 'must be a SHA-256 digest of 64 hexadecimal digits' };

/** A decision, bound to the digest that the caller saw. */
export class DecisionBody {
  @ApiProperty({ description: 'The `digest` of the item', pattern: '^[0-9a-f]{64}$' })
  @Matches(SHA_256, IS_DIGEST)
  digest: string;

  @IsOptional() @IsStorable() @MaxLength(MAX_COMMENT) comment?: string;
}

/** A comment, bound to the digest that the caller saw. */
export class CommentBody {
  @ApiProperty({ description: 'The `digest` of the item', pattern: '^[0-9a-f]{64}$' })
  @Matches(SHA_256, IS_DIGEST)
  digest: string;

  @IsStorable() @MaxLength(MAX_COMMENT) @Matches(/\S/, NOT_EMPTY) comment: string;
}

export class BlockedPackageBody {
  @IsText() registryType: string;
  /** A glob. Without a tag or digest, it also matches images that have one. */
  @IsGlob() identifier: string;
  /** One version or an npm range. It also matches packages without a version. */
  @IsOptional() @IsText() version?: string;
}

/** Which versions a block keeps out of every source: the members are ANDed, the values of one member ORed. */
@ValidateClass<BlockBody>(namesSomething)
export class BlockBody {
  @IsOptional()
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_VALUES)
  @IsGlob({ each: true })
  names?: string[];
  @IsOptional()
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_VALUES)
  @IsIn(ENTRY_TYPE_NAMES, { each: true })
  @ArrayUnique()
  types?: EntryType[];
  /** An npm range that includes prereleases. Versions that are not semver match only `*`. */
  @IsOptional() @IsVersionRange() versions?: string;
  @IsOptional()
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_VALUES)
  @ValidateNested({ each: true })
  @Type(() => BlockedPackageBody)
  packages?: BlockedPackageBody[];
  /** Globs for the URLs of remotes. */
  @IsOptional()
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_VALUES)
  @IsGlob({ each: true })
  remotes?: string[];
  @IsOptional()
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_VALUES)
  @Matches(SHA_256, { ...IS_DIGEST, each: true })
  digests?: string[];
  @IsText() @MaxLength(MAX_REASON) reason: string;
}

function namesSomething(block: Unchecked<BlockBody>): Issue[] {
  return Object.entries(block).some(([key, value]) => key !== 'reason' && value !== undefined)
    ? []
    : issue(
        'matches nothing: at least one of names, types, versions, packages, remotes, digests is required',
      );
}
