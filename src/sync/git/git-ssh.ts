import type { SshRepository } from '../../source-kinds/git-repository.js';

/** The files of ssh in the directory that git works in, where ssh begins too. */
export const SSH_CONFIG = 'ssh_config';
export const KEY = 'key';
export const KNOWN_HOSTS = 'known_hosts';

/** What git calls in place of ssh: neither the machine's configuration nor the user's is read. */
export const SSH_COMMAND = `ssh -F ${SSH_CONFIG}`;

/**
 * One key, hosts that are known, and nothing that runs a program, forwards a port or asks somebody.
 *
 * @param address connects there, whatever the name resolves to now; the key of the host is still that of its name.
 */
export function sshConfig({ host, port }: SshRepository, address: string | undefined): string {
  const name = port === 22 ? host : `[${host}]:${port}`;
  return [
    'Host *',
    ...(address === undefined ? [] : [`HostName ${address}`, `HostKeyAlias ${name}`]),
    `IdentityFile ${KEY}`,
    'IdentitiesOnly yes',
    'IdentityAgent none',
    `UserKnownHostsFile ${KNOWN_HOSTS}`,
    'GlobalKnownHostsFile /dev/null',
    'StrictHostKeyChecking yes',
    'UpdateHostKeys no',
    'CheckHostIP no',
    'CanonicalizeHostname no',
    'PreferredAuthentications publickey',
    'BatchMode yes',
    'ConnectTimeout 30',
    'ServerAliveInterval 15',
    'ServerAliveCountMax 2',
    'ProxyCommand none',
    'ProxyJump none',
    'PermitLocalCommand no',
    'ControlMaster no',
    'ControlPath none',
    'ClearAllForwardings yes',
    'ForwardAgent no',
    'ForwardX11 no',
    'RequestTTY no',
    'LogLevel ERROR',
    '',
  ].join('\n');
}
