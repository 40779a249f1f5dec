import { serverSaid } from '../validation/storable-text.js';

const NOT_SMART = 'its server does not support the smart Git protocol';

/** Explains git's own messages to operators; the first match wins. */
const EXPLANATIONS: readonly (readonly [RegExp, (hasPassword: boolean) => string])[] = [
  // These messages quote the server, so they come first.
  [
    /^(fatal|error): (invalid server response|protocol error|expected .* received|unexpected line|unknown object format)/m,
    () => NOT_SMART,
  ],
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
  [/returned error: 403/, () => 'access denied (403): the account is not allowed to read this repository'],
  [
    /returned error: 404|repository '.*' not found|does not appear to be a git repository/i,
    (hasPassword) =>
      hasPassword
        ? 'the repository does not exist, or the account has no access to it'
        : 'the repository does not exist, or it is private and git.auth is not set',
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
    /dumb http transport|not valid: is this a git repository|unable to parse|bad line length/i,
    () => NOT_SMART,
  ],
  [
    /unadvertised object|no such remote ref|bad object/,
    () => 'the server does not have this commit, or does not serve single commits',
  ],
  [/couldn't find remote ref/, () => 'the branch or tag no longer exists'],
  [/No space left on device/, () => 'the temporary directory is full'],
  [
    /out of memory|Cannot allocate memory/i,
    () => 'reading it takes too much memory: it has too many references or objects, or one that is too large',
  ],
  [
    /invalid index-pack output|index-pack failed/,
    () => 'its pack is damaged, or takes too much processor time to unpack',
  ],
  [
    /of http-fetch output|'http-fetch' is not a git command/,
    () => 'its server points to packs at other addresses, which are not fetched',
  ],
  [
    /early EOF|Empty reply|Connection reset|hung up unexpectedly|RPC failed|unexpected disconnect/,
    () => 'the connection was closed unexpectedly',
  ],
];

export function couldNotConnect(stderr: string): boolean {
  return /Could not resolve host|Connection refused|Failed to connect|Couldn't connect|No route to host/.test(
    separate(stderr).own,
  );
}

/** Returns whether the server refused a partial fetch, because it disables or only partly supports filters. */
export function refusesFilters(stderr: string): boolean {
  return /filter '?.*'? not supported|invalid filter|unadvertised object|not our ref/.test(stderr);
}

/** The prefix of lines in which git quotes a message from the server. */
const REMOTE_LINE = 'remote:';

/** Drops the incomplete first line of truncated messages, and makes `explainFailure` trust only the last line. */
export function withoutBeginning(stderr: string): string {
  return `${REMOTE_LINE}\n${stderr.slice(stderr.indexOf('\n') + 1)}`;
}

/**
 * Separates git's own messages from the server's. Only the first line of a server message is certain to begin with
 * `remote:` or `fatal: remote error:`. After `remote:`, git ends with a line of its own; after `fatal: remote error:`,
 * it adds nothing.
 */
function separate(stderr: string): { own: string; said: string } {
  const [messages = '', ...error] = stderr.split(/^fatal: remote error: /m);
  const lines = messages.trimEnd().split(/[\r\n]+/);
  const from = lines.findIndex((line) => line.startsWith(REMOTE_LINE));
  if (error.length > 0) return { own: lines.slice(0, Math.max(from, 0)).join('\n'), said: error.join(' ') };
  if (from < 0) return { own: messages, said: '' };
  const last = lines.findLast((line) => !line.startsWith(REMOTE_LINE));
  const remote = lines.slice(from).filter((line) => line.startsWith(REMOTE_LINE));
  return {
    own: [...lines.slice(0, from), ...(last === lines.at(-1) ? [last] : [])].join('\n'),
    said: remote.map((line) => line.slice(REMOTE_LINE.length)).join(' '),
  };
}

/**
 * Returns the cause of a failure as part of a sentence. Only git's own messages determine the explanation. For an
 * unknown failure, it quotes the server, or git, without secrets.
 *
 * @param secrets the secrets of the repository and its proxy.
 * @param serverWords the server's output outside git's messages.
 */
export function explainFailure(
  stderr: string,
  { secrets, proxySecrets }: Readonly<Record<'secrets' | 'proxySecrets', readonly string[]>>,
  serverWords = '',
): string {
  const { own, said } = separate(stderr);
  const known = EXPLANATIONS.find(([pattern]) => pattern.test(own));
  if (known) return known[1](secrets.length > 0);
  const scrubbed = (text: string) =>
    [...secrets, ...proxySecrets].reduce((rest, secret) => rest.replaceAll(secret, '…'), text);
  const words = `${serverWords} ${said}`.trim();
  if (words !== '') return serverSaid(scrubbed(words));
  const fatal = own.split('\n').findLast((line) => /^(fatal|error):/.test(line)) ?? 'no reason was given';
  return `git failed: ${scrubbed(fatal)
    .replaceAll(/\p{Cc}|\p{Surrogate}/gu, ' ')
    .slice(0, 200)}`;
}
