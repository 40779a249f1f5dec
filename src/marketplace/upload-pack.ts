import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { callerKeyOf } from '../auth/caller.js';
import { RegistryViews, type VerifiedAccess } from '../visibility/registry-views.js';
import type { GitProcess } from '../git/git-process.js';
import { ApiError } from '../http/errors.js';
import { sendChunks } from '../http/json-answers.js';
import { Quota } from '../limits/quota.js';
import { Semaphore } from '../limits/semaphore.js';
import { startLocalGit } from './local-git.js';
import { MarketplaceService } from './marketplace.service.js';

/** Maximum concurrent Git processes; further requests wait. The reserve is for callers with a single request. */
const MAX_PROCESSES = 16;
const RESERVED_PROCESSES = 4;
/** Maximum running and waiting requests per caller. */
const MAX_PER_CALLER = 32;
/** Maximum response time, even for slow readers. */
const MAX_ANSWER_MS = 10 * 60_000;

/** The media types of the smart HTTP protocol (gitprotocol-http). */
export const UPLOAD_PACK_REQUEST = 'application/x-git-upload-pack-request';
const RESULT = 'application/x-git-upload-pack-result';
const ADVERTISEMENT = 'application/x-git-upload-pack-advertisement';

/** Runs `git upload-pack` on the repository of the caller's view. Each request determines the view again. */
@Injectable()
export class UploadPack {
  private readonly processes = new Semaphore(MAX_PROCESSES);
  private readonly reserve = new Semaphore(RESERVED_PROCESSES);
  private readonly perCaller = new Quota({ perKey: MAX_PER_CALLER });

  constructor(
    private readonly marketplaces: MarketplaceService,
    private readonly views: RegistryViews,
  ) {}

  /**
   * Sends Git's response; the promise resolves when the response begins.
   *
   * @param command the client's command; null if it asks for references and features.
   * @param protocol the request's `Git-Protocol` header.
   * @throws ApiError as `MarketplaceService.repository`; 429 `too_many_requests`.
   */
  async send(
    access: VerifiedAccess,
    command: Buffer | null,
    protocol: string | undefined,
    response: Response,
  ): Promise<void> {
    const key = callerKeyOf(access.caller, access.client);
    if (!this.perCaller.tryAcquire(key)) throw new ApiError('too_many_requests');
    const ended: (() => void)[] = [() => this.perCaller.release(key)];
    const end = () => ended.splice(0).forEach((release) => release());
    try {
      const left = access.client.abortSignal();
      const { directory, release, deleted } = await this.marketplaces.repository(access, left);
      const foundAt = performance.now();
      ended.push(release);
      const version = /(?:^|:)version=([12])(?:$|:)/.exec(protocol ?? '')?.[1];
      response.setHeader('Cache-Control', 'no-store');
      response.setHeader('Content-Type', command ? RESULT : ADVERTISEMENT);
      const timeout = AbortSignal.timeout(MAX_ANSWER_MS);
      const gone = AbortSignal.any([left, deleted, timeout]);
      ended.push(await this.permit(key, access.client.abortSignal()));
      const args = ['upload-pack', '--strict', '--stateless-rpc'];
      if (!command) args.push('--advertise-refs');
      const git = await startLocalGit(directory, [...args, '.'], gone, version && `version=${version}`);
      git.stderr.resume();
      git.stdin.end(command ?? undefined);
      git.code.then(end, end);
      const answer = answerOf(git, command === null && version !== '2');
      const chunks = this.views.whileAdmitted(access, answer, foundAt);
      void sendChunks(response, { chunks, gone });
    } catch (error) {
      end();
      throw error;
    }
  }

  // Slow readers keep their processes.
  private async permit(key: string, gone: AbortSignal): Promise<() => void> {
    const reserved = () => (this.perCaller.held(key) === 1 ? this.reserve.tryAcquire() : undefined);
    return this.processes.tryAcquire() ?? reserved() ?? (await this.processes.acquire(key, gone));
  }
}

const SERVICE_LINE = '# service=git-upload-pack\n';

/**
 * Streams Git's response.
 *
 * @param namesService whether it begins with the name of the service, as an advertisement before version 2 does
 *   (gitprotocol-http).
 */
async function* answerOf(git: GitProcess, namesService: boolean): AsyncGenerator<Buffer> {
  if (namesService)
    yield Buffer.from(`${(SERVICE_LINE.length + 4).toString(16).padStart(4, '0')}${SERVICE_LINE}0000`);
  yield* git.stdout as AsyncIterable<Buffer>;
  // Git reports refusals, such as for missing objects, in its output, and exits with 128.
  if ((await git.code) === null) throw new Error('git upload-pack was stopped');
}
