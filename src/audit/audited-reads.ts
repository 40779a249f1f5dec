import type { ExecutionContext } from '@nestjs/common';
import type { Response } from 'express';
import { clientIn } from '../auth/caller.js';
import type { LoadedRequest } from '../auth/route.js';
import type { AccessPolicy } from '../authz/access-policy.js';
import { refusalStep } from '../http/refusal-step.js';
import { requestContextOf } from '../http/request-context.js';
import { actorOf, boundedScope, boundedTarget } from './audit-event.js';
import type { AuditRecorder } from './audit-recorder.js';
import { type DeclaredRoute, targetOf } from './request-target.js';

/**
 * With `audit.reads`, records a read of a registry once it has been answered (contract §9). Also an answer of which not all was taken;
 * what was refused is recorded by the AuditFilter.
 */
export function recordRead(
  context: ExecutionContext,
  request: LoadedRequest,
  route: DeclaredRoute,
  { recorder, policy }: { readonly recorder: AuditRecorder; readonly policy: AccessPolicy },
): void {
  if (route.audited?.action !== 'catalog.read') return;
  const response = context.switchToHttp().getResponse<Response>();
  const client = clientIn(context);
  response.once('close', () => {
    const { caller, entered, refusedInAnswer: code } = request;
    if (!caller || !response.headersSent || response.statusCode >= 400) return;
    recorder.record(
      {
        action: 'catalog.read',
        ...(code === undefined
          ? { outcome: 'allowed' as const }
          : { outcome: 'refused' as const, code, step: refusalStep(code) ?? code }),
        actor: actorOf(caller, policy.rolesOf(caller)),
        target: boundedTarget(targetOf(request, route)),
        context: requestContextOf(request),
        scope: entered?.claims ? boundedScope('manageRegistries', [entered.claims]) : null,
      },
      { client: client.keyOf(caller), isKept: true },
    );
  });
}
