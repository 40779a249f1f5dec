import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config, OAuthConfig } from '#service/config/config.js';
import { loadConfig } from '#service/config/load-config.js';
import { startService } from '#service/app/start-service.js';
import { createLogger } from '#service/telemetry/logger.js';
import { type DemoProvider, startDemoProvider } from './provider.js';

export interface DemoOptions {
  /** Path of the configuration, which has one identity provider, on loopback. */
  readonly configuration: string;
  /** Ports of the API and the provider; `providerPort` 0: any free port. */
  readonly port: number;
  readonly providerPort: number;
}

export interface Demo {
  /** Origin of the API. */
  readonly origin: string;
  readonly issuer: string;
  tokenFor(user: string): Promise<string>;
  /** Resolves with a reason when PostgreSQL exits. */
  readonly lost: Promise<string>;
  /** Stops everything and removes the data. */
  stop(): Promise<void>;
}

const VERSION = {
  version: 'demo',
  commit: '',
  build_date: '',
  node_version: process.version,
  platform: process.platform,
};

/**
 * Starts the identity provider, PostgreSQL and the server on loopback. The data is removed at the end.
 */
export async function startDemo({ configuration, port, providerPort }: DemoOptions): Promise<Demo> {
  const data = await mkdtemp(join(tmpdir(), 'registry-demo-'));
  // mkdtemp creates 0700; when run as root, PostgreSQL runs as another user and needs access.
  await chmod(data, 0o755);
  let provider: DemoProvider | undefined;
  try {
    const flags = { address: `127.0.0.1:${port}`, internalAddress: '127.0.0.1:0' };
    const { config } = loadConfig(configuration, { REGISTRY_DATA_DIR: data }, flags);
    const origin = `http://127.0.0.1:${port}`;
    const { oauth } = config.auth;
    const audience = oauth?.providers[0]?.audience;
    if (!oauth || audience === undefined) throw new Error(`${configuration} names no identity provider`);
    const running = await startDemoProvider({ port: providerPort, audience, scopes: oauth.scopesSupported });
    provider = running;
    const { issuer } = running;
    const service = await startService(
      withAddresses(config, oauth, origin, issuer),
      VERSION,
      createLogger(config.log.level),
    );
    return {
      origin,
      issuer,
      tokenFor: (user) => running.tokenFor(user),
      lost: service.lost,
      stop: async () => {
        await service.stop();
        await running.stop();
        await rm(data, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await provider?.stop();
    await rm(data, { recursive: true, force: true });
    throw error;
  }
}

// The file has the default ports; options can override them.
function withAddresses(config: Config, oauth: OAuthConfig, resourceUrl: string, issuerUrl: string): Config {
  const providers = oauth.providers.map((provider) => ({ ...provider, issuerUrl }));
  return { ...config, auth: { ...config.auth, oauth: { ...oauth, resourceUrl, providers } } };
}
