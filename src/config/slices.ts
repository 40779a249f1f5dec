import type { DynamicModule } from '@nestjs/common';
import { type ConfigFactory, ConfigModule, getConfigToken, registerAs } from '@nestjs/config';
import { type Config, freeze, oauthInUse } from './config.js';

/**
 * The part of the configuration that one module needs: injected by its `KEY`, typed by `ConfigType<typeof slice>`. What
 * `registerAs` makes, but of a `Config` that is loaded already, as services with different ones may run in one process.
 */
export interface ConfigurationSlice<T extends object> {
  (config: Config): T;
  readonly token: string;
  readonly KEY: string;
}

function slice<T extends object>(token: string, pick: (config: Config) => T): ConfigurationSlice<T> {
  return Object.assign((config: Config) => freeze(pick(config)), { token, KEY: getConfigToken(token) });
}

/** How tokens are checked; `oauth` is null where no token is asked for. */
export const authenticationConfig = slice('authentication', ({ auth, insecureUrls, proxy }) => ({
  oauth: oauthInUse(auth) ?? null,
  insecureUrls,
  proxy,
}));

/** The mode of operation, and who has which role. */
export const authorizationConfig = slice('authorization', ({ auth }) => auth);

/** What this server allows the sources that were made through the API. */
export const adminSourcesConfig = slice('adminSources', (config) => ({
  adminFileRoots: config.adminFileRoots,
  adminAllowPrivateIP: config.adminAllowPrivateIP,
  adminKubernetesNamespaces: config.adminKubernetesNamespaces,
}));

/** Where the cluster of sources of kind kubernetes is found. */
export const clusterConfig = slice('cluster', ({ kubeconfig }) => ({ kubeconfig }));

/** What requests to the outside go through. */
export const outboundConfig = slice('outbound', ({ proxy }) => ({ proxy }));

/** Whether anything may be changed through the API. */
export const changesConfig = slice('changes', ({ readOnly }) => ({ readOnly }));

/** What is recorded beside changes and refusals, and for how long. */
export const auditConfig = slice('audit', ({ audit }) => audit);

/** What this server does at a time, and holds. */
export const limitsConfig = slice('limits', ({ limits }) => limits);

/** The page for people, and where one logs in. */
export const pageConfig = slice('page', ({ auth, web }) => ({ web, oauth: oauthInUse(auth) ?? null }));

/** The pages of other origins that may read. */
export const corsConfig = slice('cors', ({ cors }) => cors);

const SLICES: readonly ConfigurationSlice<object>[] = [
  authenticationConfig,
  authorizationConfig,
  adminSourcesConfig,
  clusterConfig,
  outboundConfig,
  changesConfig,
  auditConfig,
  limitsConfig,
  pageConfig,
  corsConfig,
];

/** The slices of one configuration, as `ConfigModule` loads them. */
export function configurationSlices(config: Config): ConfigFactory[] {
  return SLICES.map((each) => registerAs(each.token, () => each(config)));
}

/** Makes the slices injectable everywhere. Nothing is read from the environment: `loadConfig` has done that. */
export function configurationModule(config: Config): Promise<DynamicModule> {
  return ConfigModule.forRoot({
    isGlobal: true,
    ignoreEnvFile: true,
    ignoreEnvVars: true,
    skipProcessEnv: true,
    load: configurationSlices(config),
  });
}
