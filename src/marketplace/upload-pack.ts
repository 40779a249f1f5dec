import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import type { VerifiedAccess } from '../visibility/registry-views.js';
import { ApiError } from '../http/errors.js';
import { sendChunks } from '../http/json-answers.js';
import { Quota } from '../limits/quota.js';
import { Semaphore } from '../limits/semaphore.js';
import { LocalGit } from './local-git.js';
import { MarketplaceService } from './marketplace.service.js';

/** Git processes at once; further requests wait. */
const MAX_PROCESSES = 16;
/** Running and waiting requests of one caller. */
const MAX_PER_CALLER = 32;
/** How long one answer may take, also for a client that reads slowly. */
const MAX_ANSWER_MS = 10 * 60_000;

/** The media types of the smart HTTP protocol (gitprotocol-http). */
const UPLOAD_PACK = 'git-upload-pack';
export const UPLOAD_PACK_REQUEST = `application/x-${UPLOAD_PACK}-request`;
export const UPLOAD_PACK_RESULT = `application/x-${UPLOAD_PACK}-result`;
export const UPLOAD_PACK_ADVERTISEMENT = `application/x-${UPLOAD_PACK}-advertisement`;

/** What a client asks of `git upload-pack`: its references and features, or a command. */
export type UploadPackRequest =
  { readonly kind: 'advertisement' } | { readonly kind: 'command'; readonly body: Buffer };

/** Runs `git upload-pack` on the repository of the caller's view. Each request finds the view anew. */
@Injectable()
export class UploadPack {
  private readonly processes = new Semaphore(MAX_PROCESSES);
  private readonly perCaller = new Quota({ perKey: MAX_PER_CALLER });

  constructor(private readonly marketplaces: MarketplaceService) {}

  /**
   * Sends the answer of Git; the promise resolves when it begins.
   *
   * @param protocol The request's `Git-Protocol` header.
   * @throws ApiError as `MarketplaceService.repository`; 429 `too_many_requests`.
   */
  async send(
    access: VerifiedAccess,
    request: UploadPackRequest,
    protocol: string | undefined,
    response: Response,
  ): Promise<void> {
    const key = access.client.callerKey(access.caller);
    if (!this.perCaller.tryAcquire(key)) throw new ApiError('too_many_requests');
    const ended: (() => void)[] = [() => this.perCaller.release(key)];
    const end = () => ended.splice(0).forEach((release) => release());
    try {
      const { directory, release } = await this.marketplaces.repository(access);
      ended.push(release);
      const gone = AbortSignal.any([access.client.abortSignal(), AbortSignal.timeout(MAX_ANSWER_MS)]);
      ended.push(await this.processes.acquire(key, access.client.abortSource));
      const version = /(?:^|:)version=([12])(?:$|:)/.exec(protocol ?? '')?.[1];
      const args = [UPLOAD_PACK.slice('git-'.length), '--strict', '--stateless-rpc'];
      if (request.kind === 'advertisement') args.push('--advertise-refs');
      const git = new LocalGit(directory, [...args, '.'], gone, version && `version=${version}`);
      git.end(request.kind === 'command' ? request.body : undefined);
      git.code.then(end, end);
      response.setHeader('Cache-Control', 'no-store');
      response.setHeader(
        'Content-Type',
        request.kind === 'command' ? UPLOAD_PACK_RESULT : UPLOAD_PACK_ADVERTISEMENT,
      );
      void sendChunks(response, { chunks: answerOf(git, request, version), gone });
    } catch (error) {
      end();
      throw error;
    }
  }
}

const SERVICE_LINE = `# service=${UPLOAD_PACK}\n`;

/** gitprotocol-http: before version 2, the advertisement begins with the name of the service. */
async function* answerOf(
  git: LocalGit,
  { kind }: UploadPackRequest,
  version: string | undefined,
): AsyncGenerator<Buffer> {
  if (kind === 'advertisement' && version !== '2')
    yield Buffer.from(`${(SERVICE_LINE.length + 4).toString(16).padStart(4, '0')}${SERVICE_LINE}0000`);
  yield* git.child.stdout as AsyncIterable<Buffer>;
  // Git reports refusals, such as objects that it does not have, in its output, and exits with 128.
  const code = await git.code;
  if (code === null) throw new Error('git upload-pack was stopped');
}
