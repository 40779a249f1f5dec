import type { OAuthConfig } from '../config/config.js';
import type { WebConfig } from '../config/web-config.js';

/** How long browsers may keep the files of the page. The names of assets hold a digest of what they hold, so they never change. */
export const CACHE_CONTROL = { html: 'no-cache', assets: 'public, max-age=31536000, immutable' } as const;

/**
 * What the page may load, and who may frame it: its own files, the API of this server, and the identity providers when somebody
 * logs in. Scripts and styles are files of ours, never text in the page. CSP Level 3; Trusted Types.
 */
export function pageHeaders(
  oauth: OAuthConfig | null,
  { iconOrigins }: WebConfig,
): Readonly<Record<string, string>> {
  const providers = (oauth?.providers ?? []).flatMap(({ issuerUrl, connectOrigins }) => [
    new URL(issuerUrl).origin,
    ...connectOrigins,
  ]);
  const directives: Readonly<Record<string, readonly string[]>> = {
    'default-src': ["'none'"],
    'script-src': ["'self'"],
    'style-src': ["'self'"],
    'img-src': ["'self'", ...iconOrigins],
    'connect-src': ["'self'", ...new Set(providers)],
    'base-uri': ["'none'"],
    'form-action': ["'none'"],
    'frame-ancestors': ["'none'"],
    'require-trusted-types-for': ["'script'"],
    'trusted-types': ["'none'"],
  };
  return {
    'Content-Security-Policy': Object.entries(directives)
      .map(([name, values]) => `${name} ${values.join(' ')}`)
      .join(';'),
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
  };
}
