import type { AuthConfig, OAuthConfig } from './config.js';

/**
 * The OAuth settings by which tokens are asked for; undefined in mode `anonymous`, where they may stand and are not used.
 *
 * @throws Error when the mode needs settings that are not there: that must never turn into "anonymous".
 */
export function oauthInUse({ mode, oauth }: AuthConfig): OAuthConfig | undefined {
  if (mode === 'anonymous') return undefined;
  if (!oauth) throw new Error('Mode oauth without its settings was not refused');
  return oauth;
}
