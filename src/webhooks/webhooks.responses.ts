import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { type Claims, CLAIMS_SCHEMA } from '../claims/claims.js';
import { AdminListMetadata } from '../http/lists.dto.js';

export const WEBHOOK_STATUSES = ['active', 'retrying', 'paused'] as const;
export const DELIVERY_STATUSES = ['delivered', 'failed'] as const;

/** The caller whose view a webhook follows. */
export class WebhookViewAnswer {
  @ApiProperty(CLAIMS_SCHEMA)
  claims: Claims;

  /** If absent, every registry whose gate admits the claims. */
  registry?: string;
}

export class WebhookAnswer {
  @ApiProperty({ example: 'siem' })
  name: string;

  @ApiProperty({
    description: 'The host of the URL; the rest of the URL is secret',
    example: 'siem.example.com',
  })
  host: string;

  @ApiProperty({ type: [String], example: ['entry.*', 'source.*'] })
  actions: string[];

  as?: WebhookViewAnswer;

  @ApiProperty({ enum: WEBHOOK_STATUSES })
  status: (typeof WEBHOOK_STATUSES)[number];

  @ApiProperty({
    type: 'integer',
    description: 'Age of the oldest event awaiting delivery, in seconds',
  })
  lag: number;

  /** Why the last attempt failed; absent after a success. */
  lastError?: string;
}

export class WebhookAnswerList {
  /** The webhooks in configuration order. */
  webhooks: WebhookAnswer[];
  metadata: AdminListMetadata;
}

/** The last attempt to deliver a message. */
export class DeliveryAnswer {
  @ApiProperty({ description: 'The `id` of the CloudEvent' })
  id: string;

  @ApiProperty({ example: 'entry.publish' })
  type: string;

  @ApiProperty({ enum: DELIVERY_STATUSES })
  status: string;

  @ApiProperty({ type: 'integer' })
  attempts: number;

  @ApiProperty({ format: 'date-time' })
  at: string;

  @ApiPropertyOptional({ description: 'Why the attempt failed' })
  error?: string;
}

export class DeliveryList {
  /** Newest first; the last thousand. */
  deliveries: DeliveryAnswer[];
  metadata: AdminListMetadata;
}
