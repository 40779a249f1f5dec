import { elements, member } from '../json/json-values.js';
import { isSvg, rasterImageIn } from '../validation/images.js';
import { below, type Issue, issue } from '../validation/value-checks.js';
import type { WebSettings } from './config-file.dto.js';
import { DEFAULTS } from './defaults.js';

/** The web UI at `/`. */
export interface WebConfig {
  readonly enabled: boolean;
  /** Empty: the web UI has no log-in. */
  readonly logins: readonly WebLogin[];
  /** Where the server fetches the icons of entries. */
  readonly iconOrigins: readonly string[];
  readonly title: string;
  readonly logo: WebLogo | null;
  /** `#rrggbb`; null: the color of the stylesheet. */
  readonly accent: string | null;
}

export interface WebLogo {
  /** Media type. */
  readonly type: string;
  readonly base64: string;
}

export interface WebLogin {
  readonly provider: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Requested if the provider's discovery document lists them: some providers refuse unknown scopes. */
  readonly optionalScopes: readonly string[];
  readonly parameters: Readonly<Record<string, string>>;
}

/**
 * @param scopesSupported Optional scopes of the log-ins that set no `scopes`.
 * @param logo Validated content of the file, in base64.
 */
export function webOf(
  web: WebSettings = {},
  scopesSupported: readonly string[] = [],
  logo?: string,
): WebConfig {
  return {
    enabled: web.enabled ?? DEFAULTS.web.enabled,
    logins: (web.logins ?? []).map((login) => ({
      provider: login.provider,
      clientId: login.clientId,
      scopes: login.scopes ?? ['openid'],
      optionalScopes: login.scopes ? [] : scopesSupported.filter((scope) => scope !== 'openid'),
      parameters: login.parameters ?? {},
    })),
    iconOrigins: web.iconOrigins ?? [],
    title: web.title ?? DEFAULTS.web.title,
    logo: logo === undefined ? null : { type: logoType(Buffer.from(logo, 'base64')) ?? '', base64: logo },
    accent: web.accent ?? null,
  };
}

/** Returns the media type of a logo; null if the web UI cannot show it. */
export function logoType(bytes: Buffer): string | null {
  return rasterImageIn(bytes)?.type ?? (isSvg(bytes) ? 'image/svg+xml' : null);
}

/** Checks that each log-in names a provider in the file, and that each provider has at most one log-in. */
export function webLogins(file: { readonly auth?: unknown; readonly web?: unknown }): Issue[] {
  const oauth = member(file.auth, 'oauth');
  const known = elements(member(oauth, 'providers')).map((provider) => member(provider, 'name'));
  const named = elements(member(file.web, 'logins')).map((login) => member(login, 'provider'));
  return named.flatMap((name, position) => {
    if (typeof name !== 'string') return [];
    const path = ['web', 'logins', position, 'provider'];
    if (!known.includes(name))
      return below(
        path,
        issue(`${JSON.stringify(name)} is not the name of a provider in auth.oauth.providers`),
      );
    return named.indexOf(name) < position
      ? below(path, issue(`${JSON.stringify(name)} is already in the list: a provider can have one log-in`))
      : [];
  });
}
