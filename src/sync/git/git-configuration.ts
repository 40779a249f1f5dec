import { devNull } from 'node:os';

/** What git must not do by itself, and what it must not take from the other side. */
export const LOCKED_DOWN = {
  core: {
    hooksPath: devNull,
    askPass: '',
    logAllRefUpdates: 'false',
    // Larger objects are unpacked piece by piece: what somebody put into a repository must not fill the memory.
    bigFileThreshold: '1m',
  },
  credential: { helper: '' },
  fetch: { unpackLimit: '1', writeCommitGraph: 'false', recurseSubmodules: 'false' },
  gc: { auto: '0' },
  http: { followRedirects: 'false', lowSpeedLimit: '1', lowSpeedTime: '30' },
  maintenance: { auto: 'false' },
  pack: { threads: '1' },
  protocol: { version: '2' },
  submodule: { recurse: 'false' },
  transfer: { bundleURI: 'false' },
} as const;
