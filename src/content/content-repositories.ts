import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { contentFetchConfig } from '../config/slices.js';
import type { GitLimits } from '../git/git-command.js';
import { GitConnections } from '../git/git-connection.js';
import { GitRemote } from '../git/git-remote.js';
import { FetchError } from '../outbound/fetch-error.js';
import { parseHttpUrl } from '../validation/urls.js';
import { accountAt, checkHost, isListed } from './content-reference.js';

/** Used in place of a file for an account's password, which has no file. */
const PASSWORD = 'password';

/** Connects to repositories at the hosts of `content.fetch.hosts`, with their accounts. */
@Injectable()
export class ContentRepositories {
  constructor(
    @Inject(contentFetchConfig.KEY) private readonly rules: ConfigType<typeof contentFetchConfig>,
  ) {}

  /** Whether content may be fetched from the host of this URL. */
  isListed(url: string): boolean {
    const parsed = parseHttpUrl(url);
    return parsed !== undefined && isListed(parsed, this.rules.fetchHosts);
  }

  /** Returns the commit of a tag or branch, or of the default branch. */
  async resolve(url: string, ref: string | undefined, signal: AbortSignal): Promise<string> {
    const remote = await this.open(url, signal);
    try {
      return await remote.resolve(ref);
    } finally {
      await remote.close();
    }
  }

  /** @throws FetchError also if the host is not listed. */
  async open(url: string, signal: AbortSignal, limits: Partial<GitLimits> = {}): Promise<GitRemote> {
    const parsed = parseHttpUrl(url);
    if (!parsed) throw new FetchError(`${url} is not an http or https URL`);
    checkHost(parsed, this.rules);
    const account = accountAt(parsed, this.rules);
    const secrets = { secret: () => Promise.resolve(account?.password ?? '') };
    const connections = new GitConnections(
      { adminAllowPrivateIP: true },
      secrets,
      undefined,
      this.rules.proxy,
    );
    const auth = account && { username: account.username, passwordFile: PASSWORD };
    const settings = { repository: url, ...(auth ? { auth } : {}) };
    const connection = await connections.connectionTo({
      kind: 'git',
      settings,
      claims: {},
      origin: 'config',
    });
    return GitRemote.open({ ...connection, hidesAddress: true }, signal, limits);
  }
}
