import { ApiProperty } from '@nestjs/swagger';
import { CLAIMS_SCHEMA } from '../claims/claims-schema.js';
import { AdminListMetadata } from '../http/lists/admin-list.responses.js';

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

/** A registry as the configuration declares it. */
export class RegistryAnswer {
  name: string;

  /** In the order in which they win when a name is in several. */
  sources: string[];

  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;

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
