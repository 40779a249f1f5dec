import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ApiError, ErrorCode } from '../http/errors.js';

/** Errors that a corrected call can avoid. Any other error fails the entire request, as in the REST API. */
const TOOL_ERRORS: ReadonlySet<ErrorCode> = new Set([
  'entry_not_found',
  'version_not_found',
  'invalid_cursor',
  'invalid_parameter',
]);

/** Returns whether the error becomes a tool result with status 200 instead of failing the request (reference/mcp). */
export function isToolError({ code }: ApiError): boolean {
  return TOOL_ERRORS.has(code);
}

/** A tool execution error (MCP 2025-11-25 server/tools). */
export function toolError({ code, message }: ApiError): CallToolResult {
  return { content: [{ type: 'text', text: `${code}: ${message}` }], isError: true };
}
