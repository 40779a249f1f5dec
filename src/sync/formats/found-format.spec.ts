import { describe, expect, it } from 'vitest';
import { findFormat } from './found-format.js';

const found = (text: string) => {
  try {
    return findFormat(Buffer.from(text));
  } catch (error) {
    return (error as Error).message;
  }
};
const json = (value: unknown) => found(JSON.stringify(value, null, 2));
const server = { name: 'io.acme/a', description: 'A server', version: '1.0.0' };

describe('findFormat', () => {
  it.each<[what: string, text: string, format: string | null]>([
    ['a registry file', '{"version": "1.0.0", "meta": {}, "data": {"servers": []}}', 'registry'],
    ['a registry file with an escaped key', '{"d\\u0061ta": {}}', 'registry'],
    ['nothing in other objects', '{"hello": "world"}', null],
    ['an empty object', '{}', null],
    ['text that is not JSON', 'hello', null],
    ['a list', ' \n[]', 'servers'],
    ['a page of the registry API', '{"servers": [], "metadata": {"count": 0}}', 'servers'],
    ['a page, with its servers last', '{"metadata": {"data": 1}, "servers": []}', 'servers'],
    ['a response with one server', JSON.stringify({ server, _meta: {} }), 'servers'],
    ['a server document', JSON.stringify(server), 'servers'],
    ['an incomplete server document', '{"name": "io.acme/a", "remotes": []}', 'servers'],
    ['a marketplace', '{"name": "acme", "owner": {"name": "Acme"}, "plugins": []}', 'marketplace'],
    ['a marketplace, with its name last', '{"plugins": [{"name": "data"}], "name": "acme"}', 'marketplace'],
    ['a marketplace without a name', '{"owner": {}, "plugins": []}', 'marketplace'],
    ['only a list of plugins', '{"plugins": [], "metadata": {}}', null],
    ['keys in a string', '{"a": "\\"data\\": {", "servers": []}', 'servers'],
    ['a key that is nested', '{"a": {"data": {}}, "servers": []}', 'servers'],
    ['an unclosed string', '{"data', null],
  ])('finds %s', (_what, text, format) => expect(found(text)).toBe(format));

  it.each<[what: string, sentence: string | null, words: RegExp]>([
    ['nothing', found(' \n'), /not valid JSON: it is empty$/],
    [
      'HTML',
      found('\n<!doctype html><title>Sign in</title>'),
      /not valid JSON: it is HTML.*login.*use the address/,
    ],
    [
      'YAML',
      found('# servers\nname: io.acme/a\nversion: 1.0.0\n'),
      /not valid JSON: it is YAML.*convert it to JSON/,
    ],
    ['YAML with a document marker', found('---\n- name: x\n'), /YAML/],
    [
      "Docker's catalog",
      found('version: 2\nname: docker-mcp\nregistry:\n  ast-grep:\n    title: x\n'),
      /Docker.*write a server\.json/,
    ],
    ["Docker's catalog as JSON", json({ name: 'docker-mcp', registry: { x: { title: 'x' } } }), /Docker/],
    [
      "a client's mcp.json",
      json({ mcpServers: { a: { command: 'npx' } } }),
      /configuration of a client.*server\.json/,
    ],
    [
      "VS Code's mcp.json",
      json({ servers: { a: { type: 'http', url: 'https://a.example' } } }),
      /configuration of a client/,
    ],
    [
      'the legacy format',
      json({ version: '1.0.0', servers: { a: { image: 'a' } } }),
      /legacy ToolHive.*Convert/,
    ],
    [
      'the legacy format with remotes',
      json({ remote_servers: { a: { url: 'https://a.example' } } }),
      /legacy ToolHive/,
    ],
    ['nested brackets', found(`{"servers": {"a": ${'['.repeat(200_000)}`), /legacy ToolHive/],
  ])('reports %s, with advice', (_what, sentence, words) => expect(sentence).toMatch(words));
});
