import { readFileSync, statSync } from 'node:fs';
import { ConfigurationError, type Problem } from '../../validation/problems.js';

export const MAX_BYTES = 4 * 1024 * 1024;

/**
 * The text of the configuration file.
 *
 * @throws ConfigurationError with one problem: not there, a directory, unreadable, over 4 MiB, not UTF-8.
 */
export function readConfigText(file: string): string {
  const bytes = readBytes(file);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw refusal(file, 'is not a text file in UTF-8');
  }
}

function readBytes(file: string): Buffer {
  try {
    const stats = statSync(file);
    if (stats.isDirectory()) throw refusal(file, 'is a directory, not a file');
    if (!stats.isFile()) throw refusal(file, 'is not a regular file');
    if (stats.size > MAX_BYTES) throw refusal(file, 'is larger than 4 MiB');
    return readFileSync(file);
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    throw refusal(file, unreadable(error));
  }
}

/** Why a file could not be read, for people. */
export function unreadable(error: unknown): string {
  const { code } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'does not exist';
  if (code === 'EACCES' || code === 'EPERM') return 'may not be read by this user';
  return `cannot be read${code === undefined ? '' : ` (${code})`}`;
}

/** A refusal of the file as a whole. */
export function refusal(file: string, message: string, line?: number): ConfigurationError {
  const problem: Problem = { path: file, message, ...(line === undefined ? {} : { line }) };
  return new ConfigurationError([problem]);
}
