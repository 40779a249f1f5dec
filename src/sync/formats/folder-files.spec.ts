import { describe, expect, it } from 'vitest';
import { namespaceOf } from './folder-files.js';

describe('the namespace of a repository', () => {
  it.each([
    ['https://github.com/acme/x', 'io.github.acme'],
    ['https://github.com/Acme/x.git', 'io.github.acme'],
    ['git@github.com:acme/x.git', 'io.github.acme'],
    ['ssh://git@github.com:22/acme/x', 'io.github.acme'],
    ['https://gitlab.com/acme/sub/x', 'io.gitlab.acme'],
    ['https://git.acme.com/team/x', 'com.acme.git'],
    ['https://git.acme.com:8443/x', 'com.acme.git'],
    ['https://GIT.acme.com/x', 'com.acme.git'],
    ['http://localhost:3000/acme.git', 'localhost'],
    ['http://127.0.0.1:3000/acme.git', '1.0.0.127'],
    ['https://github.com/x', 'com.github'],
    ['https://github.com.evil.example/acme/x', 'example.evil.com.github'],
    ['https://github.com/~acme/x', undefined],
    ['https://[::1]/acme/x', undefined],
    ['file:///acme/x', undefined],
  ])('%s → %s', (address, namespace) => expect(namespaceOf(address)).toBe(namespace));
});
