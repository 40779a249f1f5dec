import { expect, it } from 'vitest';
import { isOutOfDescriptors, isOwnDiskFull } from './own-resources.js';

const error = (code: string, syscall: string) => Object.assign(new Error(code), { code, syscall });

it.each([
  [error('ENOSPC', 'write'), 'disk'],
  [error('EDQUOT', 'write'), 'disk'],
  [error('EROFS', 'open'), 'disk'],
  [error('EFBIG', 'write'), 'disk'],
  [error('ENOENT', 'mkdtemp'), 'disk'],
  [error('EACCES', 'mkdtemp'), 'disk'],
  [error('ENOENT', 'open'), undefined],
  [error('EACCES', 'open'), undefined],
  [error('EMFILE', 'open'), 'descriptors'],
  [error('ENFILE', 'connect'), 'descriptors'],
  [error('EAGAIN', 'spawn git'), 'descriptors'],
  [
    Object.assign(new Error('Worker initialization failure: EMFILE'), { code: 'ERR_WORKER_INIT_FAILED' }),
    'descriptors',
  ],
  [error('EAGAIN', 'read'), undefined],
  [null, undefined],
])('the resource that %s shows to be exhausted: %s', (thrown, lacking) => {
  expect(isOwnDiskFull(thrown)).toBe(lacking === 'disk');
  expect(isOutOfDescriptors(thrown)).toBe(lacking === 'descriptors');
});
