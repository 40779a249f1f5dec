import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { CLAIMS_SCHEMA } from '../claims/claim-rules.js';
import { AdminListMetadata } from '../http/lists.dto.js';

export class RegistrySummary {
  /** The name that stands in the path of the consumer API. */
  name: string;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
}

export class RegistryList {
  registries: RegistrySummary[];
}

/** What a caller without a token holds in its reads. */
export class AnonymousAnswer {
  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;
}

/** A key, but for what makes it one. */
export class RegistryKeyAnswer {
  name: string;

  /** The file that held it when the registry was put. */
  secretFile: string;

  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;

  /** From then on it is refused; absent: never. */
  expires?: string;
}

/** A registry as the configuration declares it. */
export class RegistryAnswer {
  name: string;

  /** In the order in which they win when a name is in several. */
  sources: string[];

  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;

  /** Absent: its readers need a token, or a key. */
  anonymous?: AnonymousAnswer;

  /** For those who may manage registries. Absent: there are none. */
  keys?: RegistryKeyAnswer[];

  /** The claims of what `mcp-publisher` publishes through it; absent: it takes nothing. */
  @ApiPropertyOptional(CLAIMS_SCHEMA)
  publishClaims?: object;

  @ApiProperty({ enum: ['config', 'api'] })
  origin: string;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
}

export class RegistryAnswerList {
  registries: RegistryAnswer[];
  metadata: AdminListMetadata;
}
