import { expect, it } from 'vitest';
import { resourceMetadataUrl } from './bearer-token.js';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

it.each([
  ['https://registry.example.com', `https://registry.example.com${WELL_KNOWN}`],
  ['https://registry.example.com/', `https://registry.example.com${WELL_KNOWN}`],
  ['https://registry.example.com/mcp', `https://registry.example.com${WELL_KNOWN}/mcp`],
  ['https://registry.example.com/mcp/', `https://registry.example.com${WELL_KNOWN}/mcp/`],
  ['https://registry.example.com:8443/a/b', `https://registry.example.com:8443${WELL_KNOWN}/a/b`],
  ['http://127.0.0.1:8080/mcp', `http://127.0.0.1:8080${WELL_KNOWN}/mcp`],
])('the metadata of the resource %s are at %s', (resourceUrl, metadata) => {
  expect(resourceMetadataUrl(resourceUrl)).toBe(metadata);
});
