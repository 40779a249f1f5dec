import { expect, it } from 'vitest';
import { publisherOf } from './publisher.js';

it.each([
  ['io.github.acme/tool', 'github.com/acme'],
  ['com.gitlab.acme/tool', 'gitlab.com/acme'],
  ['io.github/tool', 'github.io'],
  ['com.acme.tools/tool', 'tools.acme.com'],
  ['acme/tool', 'acme'],
  ['tool', ''],
])('the publisher of %s is %s', (name, publisher) => expect(publisherOf(name)).toBe(publisher));
