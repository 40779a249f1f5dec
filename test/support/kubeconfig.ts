import { stringify } from 'yaml';
import type { Document } from './documents.js';

interface Written {
  /** Absent: defined in another file. `ca` is PEM. */
  cluster?: { server: string; ca: string };
  user?: Document;
  /** Defines the context and makes it current. */
  context?: boolean;
}

/** A kubeconfig whose user, cluster and context are all named `test`. */
export function aKubeconfig({ cluster, user, context = true }: Written): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    ...(cluster
      ? {
          clusters: [
            {
              name: 'test',
              cluster: {
                server: cluster.server,
                'certificate-authority-data': Buffer.from(cluster.ca).toString('base64'),
              },
            },
          ],
        }
      : {}),
    ...(user ? { users: [{ name: 'test', user }] } : {}),
    ...(context
      ? {
          contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
          'current-context': 'test',
        }
      : {}),
  });
}
