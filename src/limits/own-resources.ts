import { readFileSync } from 'node:fs';

/** How many files the server must be able to open: loading its modules takes about 350. */
export const MIN_OPEN_FILES = 512;

/** Returns how many files this process may open; Infinity if the system does not report it. Node raises the soft limit to the hard one. */
export function openFilesLimit(): number {
  try {
    const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return limit === undefined ? Infinity : Number(limit);
  } catch {
    return Infinity;
  }
}

/** Whether the process is out of file descriptors, or the system out of processes or threads. */
export function isOutOfDescriptors(error: unknown): boolean {
  const { code = '', syscall } = (error ?? {}) as NodeJS.ErrnoException;
  return (
    ['EMFILE', 'ENFILE', 'ERR_WORKER_INIT_FAILED'].includes(code) ||
    (code === 'EAGAIN' && syscall?.startsWith('spawn') === true)
  );
}

const DISK_FULL = ['ENOSPC', 'EDQUOT', 'EROFS', 'EFBIG'];
const NO_FOLDER = ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM'];

/** Whether this machine's disk is full or read-only, or the process has no usable temporary folder. */
export function isOwnDiskFull(error: unknown): boolean {
  const { code = '', syscall } = (error ?? {}) as NodeJS.ErrnoException;
  return DISK_FULL.includes(code) || (syscall === 'mkdtemp' && NO_FOLDER.includes(code));
}

/** Returns a message that names the resource this machine has run out of; undefined for other errors. */
export function ownShortage(error: unknown): string | undefined {
  if (isOutOfDescriptors(error))
    return 'The server has no file descriptors, processes or threads left: try again shortly';
  return isOwnDiskFull(error)
    ? 'The server cannot write to its own disk: it is full or read-only, or has no temporary folder'
    : undefined;
}
