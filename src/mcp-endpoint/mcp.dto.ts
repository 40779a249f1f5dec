import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

/**
 * A JSON-RPC 2.0 message. Requests have `method` and `id`; notifications have only `method`; responses have `result` or
 * `error`.
 */
export class McpMessage {
  @ApiProperty({ enum: ['2.0'] })
  jsonrpc: string;

  @ApiPropertyOptional({ oneOf: [{ type: 'string' }, { type: 'integer' }] })
  id?: string | number;

  @ApiPropertyOptional({ example: 'tools/call' })
  method?: string;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    example: { name: 'search_servers', arguments: { query: 'weather' } },
  })
  params?: object;

  @ApiPropertyOptional({ type: 'object', additionalProperties: true })
  result?: object;

  @ApiPropertyOptional({ type: 'object', additionalProperties: true })
  error?: object;
}
