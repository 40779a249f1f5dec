/** Explains git's messages to operators; the first match wins. */
const EXPLANATIONS: readonly (readonly [RegExp, (hasPassword: boolean) => string])[] = [
  [
    /from proxy after CONNECT|response from proxy|resolve proxy|CONNECT tunnel failed|returned error: 407/i,
    () => 'the proxy in HTTPS_PROXY or HTTP_PROXY refuses the connection or is unreachable',
  ],
  [
    /Authentication failed|could not read (Username|Password)|returned error: 401/,
    (hasPassword) =>
      hasPassword
        ? 'the user name or the password was refused'
        : 'it requires a user name and a password, and git.auth is not set; some servers also respond like this if the repository does not exist',
  ],
  [/returned error: 403/, () => 'access denied (403): the account may not read this repository'],
  [
    /returned error: 404|repository '.*' not found|does not appear to be a git repository/i,
    (hasPassword) =>
      hasPassword
        ? 'there is no such repository, or the account may not see it'
        : 'there is no such repository, or it is private and git.auth is not set',
  ],
  [
    /returned error: 30\d|unable to update url base from redirection/,
    () => 'it redirects to another address, which is not followed: configure the final one',
  ],
  [/returned error: 429/, () => 'it refuses further requests for now (429)'],
  [/returned error: 5\d\d/, () => 'its server failed with a 5xx status'],
  [/Host key verification failed/, () => 'its host key is not the one in git.auth.knownHostsFile'],
  [
    /Permission denied|Too many authentication failures|error in libcrypto|invalid format|incorrect passphrase/,
    () => 'the key was refused or is unusable: it must not have a passphrase',
  ],
  [/No user exists for uid/, () => 'ssh needs an entry for the user id of the server in /etc/passwd'],
  [/cannot run ssh|ssh: not found|ssh: command not found/, () => 'ssh is not installed'],
  [/Could not resolve host/, () => 'its host name could not be resolved'],
  [/Connection refused/, () => 'the connection was refused'],
  [/Failed to connect|Connection timed out|Couldn't connect/, () => 'no connection could be made'],
  [
    /SSL certificate problem|certificate verification failed|no alternative certificate subject|SSL_ERROR|gnutls_/i,
    () => 'its TLS certificate is not trusted; set NODE_EXTRA_CA_CERTS to add authorities',
  ],
  [/Operation too slow/, () => 'it sent nothing for 30 s'],
  [
    /dumb http transport|not valid: is this a git repository|unable to parse|invalid server response|bad line length/i,
    () => 'its server does not support the smart Git protocol',
  ],
  [
    /not our ref|unadvertised object|no such remote ref|bad object/,
    () => 'the server does not have this commit, or does not serve single commits',
  ],
  [/couldn't find remote ref/, () => 'the branch or tag no longer exists'],
  [/No space left on device/, () => 'the temporary directory is full'],
  [/over limit \d+|Out of memory|out of memory/, () => 'it sent an object that is too large to unpack'],
  [
    /early EOF|Empty reply|Connection reset|hung up unexpectedly|RPC failed|unexpected disconnect/,
    () => 'the connection was closed unexpectedly',
  ],
];

/** Returns whether git could not connect. */
export function couldNotConnect(stderr: string): boolean {
  return /Could not resolve host|Connection refused|Failed to connect|Couldn't connect|No route to host/.test(
    stderr,
  );
}

/** Returns whether the server refused a partial fetch, because it disables or only partly supports filters. */
export function refusesFilters(stderr: string): boolean {
  return /filter '?.*'? not supported|invalid filter|unadvertised object|not our ref/.test(stderr);
}

/**
 * Returns the cause of a failure as part of a sentence. For an unknown failure, it quotes git's own message without
 * secrets, but never the remote's messages.
 */
export function explain(
  stderr: string,
  secrets: readonly string[],
  proxySecrets: readonly string[] = [],
): string {
  const own = stderr.split('\n').filter((line) => !line.startsWith('remote:'));
  const known = EXPLANATIONS.find(([pattern]) => pattern.test(own.join('\n')));
  if (known) return known[1](secrets.length > 0);
  const fatal = own.findLast((line) => /^(fatal|error):/.test(line)) ?? 'no reason was given';
  const scrubbed = [...secrets, ...proxySecrets].reduce(
    (text, secret) => text.replaceAll(secret, '…'),
    fatal,
  );
  return `git failed: ${scrubbed.replaceAll(/\p{Cc}|\p{Surrogate}/gu, ' ').slice(0, 200)}`;
}
