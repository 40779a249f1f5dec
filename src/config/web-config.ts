import { elements, member } from '../json/json-values.js';
import { isSvg, rasterImageIn } from '../validation/images.js';
import { below, type Issue, issue } from '../validation/value-checks.js';
import type { WebSettings } from './config-file.dto.js';

/**
 * @param scopesSupported Optional scopes of the logins that set no `scopes`.
 * @param logo Validated content of the file, in base64.
 */
export function webOf(web: WebSettings, scopesSupported: readonly string[] = [], logo?: string) {
  return {
    ...web,
    logins: web.logins.map(({ scopes, ...login }) => ({
      ...login,
      scopes: scopes ?? ['openid'],
      /** Requested if the provider's discovery document lists them: some providers refuse unknown scopes. */
      optionalScopes: scopes ? [] : scopesSupported.filter((scope) => scope !== 'openid'),
    })),
    logo: logo === undefined ? null : { type: logoType(Buffer.from(logo, 'base64')) ?? '', base64: logo },
  };
}

/** Returns the media type of a logo; null if the web UI cannot show it. */
export function logoType(bytes: Buffer): string | null {
  return rasterImageIn(bytes)?.type ?? (isSvg(bytes) ? 'image/svg+xml' : null);
}

/** Checks that each login refers to a provider in the file, and that each provider has at most one login. */
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
      ? below(path, issue(`${JSON.stringify(name)} is already in the list: a provider can have one login`))
      : [];
  });
}
