import { flag, foundKind, listOf, text } from '../../validation/value-checks.js';
import { type Issue, issue } from '../../validation/problems.js';
import { Checked, Optional, SectionList } from '../../validation/class-checks.js';
import { httpOrigin } from '../../validation/urls.js';

/** How people log in at one identity provider: what it knows the page as. */
export class WebLoginSettings {
  /** Its name in `auth.oauth.providers`. */
  @Checked(text()) provider: string;
  /** Of a public client: a browser keeps no secret. */
  @Checked(text()) clientId: string;
  /** What is asked for; absent: `openid` and `scopesSupported`. */
  @Optional() @Checked(listOf(text(scope), { notEmpty: true, unique: true })) scopes?: string[];
  /** What the provider wants to be told beside, such as `audience`. */
  @Optional() @Checked(parameters) parameters?: Record<string, string>;
}

/** The page for people at `/`. */
export class WebSettings {
  @Optional() @Checked(flag) enabled?: boolean;
  @Optional() @SectionList(() => WebLoginSettings) logins?: WebLoginSettings[];
  /** Where icons of entries may be loaded from; whoever serves them sees who looks at the catalogue. */
  @Optional() @Checked(listOf(httpOrigin, { unique: true })) iconOrigins?: string[];
}

// RFC 6749 §3.3
function scope(value: string): string | undefined {
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value)
    ? undefined
    : 'must be a scope: ASCII without spaces and quotes';
}

/** Those the log-in itself sets (RFC 6749 §4.1.1, RFC 7636 §4.3). */
const RESERVED = [
  'client_id',
  'redirect_uri',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
];

function parameters(value: unknown): Issue[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return issue(`must be a map of names and texts, not ${foundKind(value)}`);
  return Object.entries(value).flatMap(([name, given]) => {
    if (typeof given !== 'string')
      return issue(`must hold texts alone: ${JSON.stringify(name)} is ${foundKind(given)}`);
    return RESERVED.includes(name)
      ? issue(`must not hold ${JSON.stringify(name)}, which the log-in itself sets`)
      : [];
  });
}
