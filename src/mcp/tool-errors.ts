import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { ApiError, ErrorCode } from '../http/errors.js';

/** What somebody may put right by calling again in another way. All other refusals are those of the request, as in the REST API. */
const TOOL_ERRORS: ReadonlySet<ErrorCode> = new Set([
  'entry_not_found',
  'version_not_found',
  'invalid_cursor',
  'invalid_parameter',
]);

/** Is this refusal the result of a call, with status 200, rather than that of the whole request (contract §6.3)? */
export function isToolError({ code }: ApiError): boolean {
  return TOOL_ERRORS.has(code);
}

/** A call that has failed (MCP 2025-11-25 server/tools, tool execution errors). */
export function toolError({ code, message }: ApiError): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: `${code}: ${message}` }] };
}
