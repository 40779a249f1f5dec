/** What git says, in the order in which it is looked for, and what it means for an operator. */
const MEANINGS: readonly (readonly [RegExp, (hasPassword: boolean) => string])[] = [
  [
    /from proxy after CONNECT|response from proxy|resolve proxy|CONNECT tunnel failed|returned error: 407/i,
    () => 'the proxy of HTTPS_PROXY or HTTP_PROXY does not let it through, or is not there',
  ],
  [
    /Authentication failed|could not read (Username|Password)|returned error: 401/,
    (hasPassword) =>
      hasPassword
        ? 'the user name or the password was refused'
        : 'it asks for a user name and a password, and git.auth is not set; some servers also say so of a repository that is not there',
  ],
  [/returned error: 403/, () => 'the access was denied (403): the account may not read this repository'],
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
  [/returned error: 429/, () => 'it takes no more requests for now (429)'],
  [/returned error: 5\d\d/, () => 'the server of the repository failed, with a status of 500 or above'],
  [/Host key verification failed/, () => 'its host key is not the one in git.auth.knownHostsFile'],
  [
    /Permission denied|Too many authentication failures|error in libcrypto|invalid format|incorrect passphrase/,
    () => 'the key was refused, or can not be used: it must have no passphrase',
  ],
  [/No user exists for uid/, () => 'ssh needs a user of this machine with the id of the server'],
  [/cannot run ssh|ssh: not found|ssh: command not found/, () => 'there is no ssh command on this machine'],
  [/Could not resolve host/, () => 'its host name could not be resolved'],
  [/Connection refused/, () => 'the connection was refused'],
  [/Failed to connect|Connection timed out|Couldn't connect/, () => 'no connection could be made'],
  [
    /SSL certificate problem|certificate verification failed|no alternative certificate subject|SSL_ERROR|gnutls_/i,
    () => 'its TLS certificate is not trusted; NODE_EXTRA_CA_CERTS names further authorities',
  ],
  [/Operation too slow/, () => 'it sent nothing for half a minute'],
  [
    /dumb http transport|not valid: is this a git repository|unable to parse|invalid server response|bad line length/i,
    () => 'what answers there is no Git server that speaks the smart protocol',
  ],
  [
    /not our ref|unadvertised object|no such remote ref|bad object/,
    () => 'the server does not have it, or does not give out single commits',
  ],
  [/couldn't find remote ref/, () => 'the branch or tag is gone'],
  [/No space left on device/, () => 'the temporary directory of this machine is full'],
  [/over limit \d+|Out of memory|out of memory/, () => 'it sent an object too large to be unpacked'],
  [
    /early EOF|Empty reply|Connection reset|hung up unexpectedly|RPC failed|unexpected disconnect/,
    () => 'the connection broke off',
  ],
];

/** Was the request refused for asking for less than everything? The filter may be switched off, or be only half there. */
export function refusesFilters(stderr: string): boolean {
  return /filter '?.*'? not supported|invalid filter|unadvertised object|not our ref/.test(stderr);
}

/**
 * A part of a sentence about what went wrong. Of the words of git only those it says itself are shown, for what is not
 * known here, and no secret it was given.
 */
export function explain(
  stderr: string,
  secrets: readonly string[],
  proxySecrets: readonly string[] = [],
): string {
  const own = stderr.split('\n').filter((line) => !line.startsWith('remote:'));
  const known = MEANINGS.find(([pattern]) => pattern.test(own.join('\n')));
  if (known) return known[1](secrets.length > 0);
  const fatal = own.findLast((line) => /^(fatal|error):/.test(line)) ?? 'no reason was given';
  const scrubbed = [...secrets, ...proxySecrets].reduce(
    (text, secret) => text.replaceAll(secret, '…'),
    fatal,
  );
  return `git failed: ${scrubbed.replaceAll(/\p{Cc}|\p{Surrogate}/gu, ' ').slice(0, 200)}`;
}
