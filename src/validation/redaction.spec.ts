import { expect, it } from 'vitest';
import { withoutQuery } from './redaction.js';

const KEY = 'K'.repeat(43);

it.each([
  ['https://registry.example.com/v0.1/servers?token=secret#x', 'https://registry.example.com/v0.1/servers'],
  [`https://mirror.example/registry/ide/k/${KEY}/v0.1`, 'https://mirror.example/registry/ide/k/{key}/v0.1'],
  ['https://mirror.example/a/registry/ide/k/short', 'https://mirror.example/a/registry/ide/k/{key}'],
  [`https://files.example/${KEY}.json`, 'https://files.example/{key}.json'],
])('shows %s as %s, without query and keys', (url, shown) => expect(withoutQuery(url)).toBe(shown));
