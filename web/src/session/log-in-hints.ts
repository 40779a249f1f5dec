/** What to check, by OAuth error code (RFC 6749 §4.1.2.1 and §5.2, RFC 8707 §2) and by this server's error code. */
const HINTS: Readonly<Record<string, string>> = {
  invalid_scope:
    'The provider refuses a requested scope: set web.logins[].scopes to scopes that this client may request.',
  invalid_client: 'web.logins[].clientId must be a public client, which has no secret.',
  unauthorized_client:
    'The client in web.logins[].clientId must be a public client and allow the authorization code flow.',
  access_denied: 'The provider must allow this user to use the client in web.logins[].clientId.',
  invalid_target:
    'Set web.logins[].parameters to the audience or resource that the provider has registered for this server.',
  id_token:
    'The browser sends the access token from the login. If the access tokens of this provider look like ID tokens (Dex), set auth.oauth.providers[].idTokens to accept.',
  token_invalid:
    'The audience of the token must be auth.oauth.providers[].audience: add it at the provider, or request it with web.logins[].scopes or web.logins[].parameters. The log explains the refusal under the request ID.',
};

/**
 * Names the configuration key or provider setting that may fix a failed login.
 *
 * @param thrown by the login: an error with a code, or a `TypeError` when the browser got no response.
 * @returns at most one sentence.
 */
export function hintFor(thrown: unknown): string[] {
  if (thrown instanceof TypeError)
    return [
      `The provider must allow cross-origin requests (CORS) from ${location.origin}. If its token endpoint is outside the issuer's origin, add that endpoint's origin to auth.oauth.providers[].connectOrigins.`,
    ];
  const { error, code, sentence } = thrown as Record<string, unknown>;
  const problem = String(sentence).includes('ID token') ? 'id_token' : code;
  const hint = Object.entries(HINTS).find(([known]) => known === error || known === problem)?.[1];
  return hint === undefined ? [] : [hint];
}
