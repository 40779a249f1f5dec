import type { DynamicModule } from '@nestjs/common';
import { ConfigModule, getConfigToken, registerAs } from '@nestjs/config';
import { type Config, oauthInUse } from './config.js';
import { freeze } from '../json/plain.js';

/**
 * The part of the configuration that a module needs. It is injected by `KEY` and typed by `ConfigType<typeof slice>`.
 * Unlike `registerAs`, it takes a loaded `Config`, because services with different configurations may run in one
 * process.
 */
export interface ConfigurationSlice<T extends object> {
  (config: Config): T;
  readonly token: string;
  readonly KEY: string;
}

const SLICES: ConfigurationSlice<object>[] = [];

function slice<T extends object>(token: string, pick: (config: Config) => T): ConfigurationSlice<T> {
  const made = Object.assign((config: Config) => freeze(pick(config)), { token, KEY: getConfigToken(token) });
  SLICES.push(made);
  return made;
}

/** How tokens are verified; `oauth` is null in anonymous mode. */
export const authenticationConfig = slice('authentication', ({ auth, insecureUrls, proxy }) => ({
  oauth: oauthInUse(auth) ?? null,
  insecureUrls,
  proxy,
}));

/** Mode, roles and policy. */
export const authorizationConfig = slice('authorization', ({ auth }) => auth);

/** Restrictions for sources and registries created through the API. */
export const adminSourcesConfig = slice('adminSources', (config) => ({
  adminFileRoots: config.adminFileRoots,
  adminAllowPrivateIP: config.adminAllowPrivateIP,
  adminKubernetesNamespaces: config.adminKubernetesNamespaces,
  adminOpenAccess: config.adminOpenAccess,
}));

/** The cluster that Kubernetes sources read from. */
export const clusterConfig = slice('cluster', ({ kubeconfig }) => ({ kubeconfig }));

/** Proxies for outbound requests. */
export const outboundConfig = slice('outbound', ({ proxy }) => ({ proxy }));

/** Whether the API allows changes. */
export const changesConfig = slice('changes', ({ readOnly }) => ({ readOnly }));

export const auditConfig = slice('audit', ({ audit }) => audit);

export const webhooksConfig = slice('webhooks', ({ webhooks }) => ({ webhooks }));

/** The webhooks of admission. */
export const admissionConfig = slice('admission', ({ admission }) => admission);

export const limitsConfig = slice('limits', ({ limits }) => limits);

export const contentConfig = slice('content', ({ content }) => content);

/** How content may be fetched. */
export const contentFetchConfig = slice('contentFetch', ({ content, insecureUrls, proxy }) => ({
  ...content,
  insecureUrls,
  proxy,
}));

/** The web UI and its logins. */
export const pageConfig = slice('page', ({ web }) => ({ web }));

/** Origins whose pages may read responses. */
export const corsConfig = slice('cors', ({ cors }) => cors);

/** Which words searches treat as equal. */
export const searchConfig = slice('search', ({ search }) => search);

/** Provides the slices globally. Does not read the environment, because `loadConfig` has already done so. */
export function configurationModule(config: Config): Promise<DynamicModule> {
  return ConfigModule.forRoot({
    isGlobal: true,
    ignoreEnvFile: true,
    ignoreEnvVars: true,
    skipProcessEnv: true,
    load: SLICES.map((each) => registerAs(each.token, () => each(config))),
  });
}
