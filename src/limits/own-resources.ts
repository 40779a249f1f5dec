/** Whether the process has no file descriptor, or the system no process, left. */
export function isOutOfDescriptors(error: unknown): boolean {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  return (
    code === 'EMFILE' || code === 'ENFILE' || (code === 'EAGAIN' && syscall?.startsWith('spawn') === true)
  );
}

/** Whether this machine's disk, such as its temporary folder, is full or read-only. */
export function isOwnDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EROFS'].includes((error as NodeJS.ErrnoException | null)?.code ?? '');
}
