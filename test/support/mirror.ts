import { beforeAll } from 'vitest';
import { aServer } from './documents.js';
import { aService, type ServiceUnderTest } from './service.js';
import { anUpstreamRegistry, type UpstreamRegistry } from './upstream-registry.js';

export interface Mirror {
  readonly upstream: UpstreamRegistry;
  readonly mirror: ServiceUnderTest;
  /** Makes the next run of the source a full read, like its first. */
  forget(): Promise<unknown>;
}

/** An upstream registry, and a service that mirrors it as `main`; both run during the tests of the file. */
export function aMirror(): Mirror {
  const upstream = anUpstreamRegistry().runs();
  const mirror = aService();
  beforeAll(() => {
    mirror.source('main', { kind: 'api', settings: { endpoint: upstream.url } });
    upstream.put([aServer('io.acme/first')]);
  });
  mirror.registry('main', { sources: ['main'] }).runs();
  const forget = () =>
    mirror.database.query(`update source_sync set fetch_state = null where next_run_at is not null`);
  return { upstream, mirror, forget };
}
