import { expect, it } from 'vitest';
import { RESOURCES } from './custom-resources.js';
import { readObject, readStored } from './exported-object.js';

it.each(
  RESOURCES.flatMap((resource) => [
    { resource, category: undefined, tags: [] },
    { resource, category: 'science', tags: ['science'] },
  ]),
)(
  'the stored document of a $resource.kind has its kind and the tags $tags',
  ({ resource, category, tags }) => {
    const annotations = {
      'toolhive.stacklok.dev/registry-export': 'true',
      'toolhive.stacklok.dev/registry-url': 'https://mcp.example.com/1',
      'toolhive.stacklok.dev/registry-description': 'A server',
      ...(category === undefined ? {} : { 'toolhive.stacklok.dev/registry-category': category }),
    };
    const found = readObject(resource, { metadata: { namespace: 'n', name: 'a', annotations } });
    if (found?.outcome !== 'entry') throw new Error('No entry');
    expect(readStored(found.version.document.toString())).toEqual({ kind: resource.kind, tags });
  },
);

it.each([
  '{}',
  '[]',
  'null',
  '{"_meta":5}',
  '{"_meta":{"io.modelcontextprotocol.registry/publisher-provided":{"io.github.stacklok":{"https://a":{}}}}}',
])('does not read an object from a document without a kind: %s', (document) =>
  expect(readStored(document)).toBeNull(),
);
