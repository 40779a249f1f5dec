import { realpathSync, statSync } from 'node:fs';
import { elements, member } from '../../json/json-values.js';
import type { Unchecked } from '../../validation/class-checks.js';
import { below, type Issue, issue, type Path } from '../../validation/problems.js';
import type { ConfigFile } from '../config-file.dto.js';

/** Each of `adminFileRoots` must be a directory, and stand there once. */
export function adminFileRoots(file: Unchecked<ConfigFile>): Issue[] {
  const named: [Path, unknown][] = [
    [['adminFileRoot'], file.adminFileRoot],
    ...elements(file.adminFileRoots).map((root, position): [Path, unknown] => [
      ['adminFileRoots', position, 'path'],
      member(root, 'path'),
    ]),
  ];
  const known = new Set<string>();
  return named.flatMap(([path, directory]) => {
    if (typeof directory !== 'string' || !directory.startsWith('/') || directory.includes('\0')) return [];
    const isDirectory = statSync(directory, { throwIfNoEntry: false })?.isDirectory() ?? false;
    if (!isDirectory) return below(path, issue('is not a directory'));
    // Two answers to one question.
    const real = realpathSync(directory);
    if (known.has(real)) return below(path, issue(`${JSON.stringify(directory)} stands in the list already`));
    known.add(real);
    return [];
  });
}
