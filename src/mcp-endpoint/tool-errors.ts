import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { ApiError, ErrorCode } from '../http/errors.js';

/** Errors that another call can correct. All others refuse the whole request, as in the REST API. */
const TOOL_ERRORS: ReadonlySet<ErrorCode> = new Set([
  'entry_not_found',
  'version_not_found',
  'invalid_cursor',
  'invalid_parameter',
]);

/** Whether the error is the result of a call, with status 200, rather than of the whole request (contract §6.3). */
export function isToolError({ code }: ApiError): boolean {
  return TOOL_ERRORS.has(code);
}

/** A tool execution error (MCP 2025-11-25 server/tools). */
export function toolError({ code, message }: ApiError): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: `${code}: ${message}` }] };
}
