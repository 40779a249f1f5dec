import { Ajv } from 'ajv';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { pluginNameOf } from './plugin-name.js';

it.each([
  ['io.acme/deploy', 'io-acme-deploy'],
  ['IO.Acme_Tools/roll-out', 'io-acme-tools-roll-out'],
  ['io.acme--x/a--b', 'io-acme-x-a-b'],
  ['io.acme./_b', 'io-acme-b'],
  [`io.acme/${'a'.repeat(56)}`, `io-acme-${'a'.repeat(56)}`],
  // 65 characters; the digest is of all of them.
  [`io.acme/${'a'.repeat(57)}`, `io-acme-${'a'.repeat(47)}-352f3bc7`],
  // The 55th character is a hyphen.
  [`io.acme/${'a'.repeat(46)}-${'b'.repeat(20)}`, `io-acme-${'a'.repeat(46)}-d058da2d`],
])('%s is %s', (name, expected) => {
  expect(pluginNameOf(name)).toBe(expected);
});

it('is valid in Agent Plugins 1.0, whatever the entry is called', () => {
  // https://agent-plugins.org/schemas/1.0.0/plugin.schema.json
  const isName = new Ajv().compile({
    type: 'string',
    minLength: 1,
    maxLength: 64,
    pattern: '^(?!.*(?:--|\\.\\.))[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$',
  });
  const namespace = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9._-]{2,127}$/);
  const name = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,62}[a-z0-9]$/);
  fc.assert(
    fc.property(namespace, name, (one, other) => {
      const plugin = pluginNameOf(`${one}/${other}`);
      expect(isName(plugin), plugin).toBe(true);
    }),
  );
});
