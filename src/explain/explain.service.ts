import { Injectable } from '@nestjs/common';
import { Authenticator } from '../auth/auth.guard.js';
import { type Caller, callerKeyOf } from '../auth/caller.js';
import { OAuthInForce } from '../auth/oauth-in-force.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { SearchLimit } from '../catalog/search-limits.js';
import { ApiError } from '../http/errors.js';
import type { Client } from '../http/request-context.js';
import { AssumedCallers, type CallerForm, type IdentifiedCaller } from './assumed-caller.js';
import type { Explanation } from './explain.dto.js';
import { hintsFor, providerHints, unmappedHints } from './hints.js';
import { knowsRules, mayAssume, rightsOf } from './knowledge.js';
import { ManageService } from './manage.service.js';
import { PublishService } from './publish.service.js';
import { type Asking, type Explained, type Question } from './question.js';
import { SeeService } from './see.service.js';
import { answerOf, decisionOf, firstRefusal, SHOWN, type Step } from './steps.js';

const ASK_A_MANAGER =
  'Only managers of the registry may see its claims: send them the output of `GET /v1/me?claims=true`, so that they can explain your access';

/** Explains the response to a request by running the code that serves it (reference/explain). */
@Injectable()
export class ExplainService {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly policy: AccessPolicy,
    private readonly searches: SearchLimit,
    private readonly seeing: SeeService,
    private readonly managing: ManageService,
    private readonly publishing: PublishService,
    private readonly oauth: OAuthInForce,
    private readonly callers: AssumedCallers,
  ) {}

  /**
   * @param as another caller whom the question is about.
   * @throws ApiError 403 `role_required` if the asker is not allowed to ask about others; 429 if the asker's limit on
   * concurrent questions is exceeded; 400 `invalid_body` for a caller that cannot exist.
   */
  async explain(asker: Caller, client: Client, question: Question, as?: CallerForm): Promise<Explanation> {
    const rights = rightsOf(this.policy, asker);
    if (as) {
      if (!mayAssume(rights)) throw new ApiError('role_required');
      // A question about the asker costs no more than the request itself; questions about others are limited.
      return this.searches.run(callerKeyOf(asker, client), client.abortSignal(), async () => {
        const isRead = (question.action ?? 'see') === 'see';
        const found = await this.callers.identify(asker, as, isRead ? question.registry : null);
        return this.explained({ asker, rights, isAssumed: true, client }, question, found);
      });
    }
    const refused = this.refusedToken(asker);
    if (refused) return refused;
    const own = { caller: asker, step: tokenStep(asker) };
    return this.explained({ asker, rights, isAssumed: false, client }, question, own);
  }

  private async explained(
    asking: Omit<Asking, 'subject'>,
    question: Question,
    { caller: subject, step: token, token: raw }: IdentifiedCaller,
  ): Promise<Explanation> {
    const found: Explained = subject
      ? await this.ask({ ...asking, subject }, question)
      : { answer: SHOWN, steps: [] };
    const refused = firstRefusal([token]);
    const { answer, missing } = refused ? { answer: refused } : found;
    const steps = [token, ...found.steps];
    const hidesGate =
      !asking.isAssumed &&
      steps.some(({ step, outcome, required }) => step === 'gate' && outcome === 'refused' && !required);
    const held = subject?.claims ?? raw?.claims ?? {};
    // Claim mappings are configured settings, which only super-admins may see.
    const providers = knowsRules(asking.rights) ? (this.oauth.settings?.providers ?? []) : [];
    return {
      answer,
      decision: decisionOf(answer, steps),
      steps,
      ...(missing ? { missing } : {}),
      hints: [
        ...hintsFor(held, steps),
        ...providerHints(held, steps, providers),
        ...(asking.isAssumed ? unmappedHints(held, raw, providers) : []),
        ...(found.hints ?? []),
        ...(hidesGate ? [ASK_A_MANAGER] : []),
      ],
    };
  }

  private ask(asking: Asking, question: Question): Promise<Explained> {
    switch (question.action ?? 'see') {
      case 'see':
        return this.seeing.explain(asking, question);
      case 'manage':
        return this.managing.explain(asking, question);
      case 'publish':
        return this.publishing.explain(asking, question);
    }
  }

  /** Explains why a caller without a token is refused. Such callers can ask if `publicPaths` admits them. */
  private refusedToken({ identified }: Caller): Explanation | undefined {
    const error = this.authenticator.unidentified();
    if (identified || error.code === 'anonymous_mode') return undefined;
    const step: Step = { step: 'token', outcome: 'refused', code: error.code };
    return { answer: answerOf(error), decision: 'refused', steps: [step], hints: [] };
  }
}

function tokenStep({ identified }: Caller): Step {
  return identified
    ? { step: 'token', outcome: 'passed' }
    : { step: 'token', outcome: 'skipped', because: 'mode' };
}
