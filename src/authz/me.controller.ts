import { Controller, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Authenticator } from '../auth/auth.guard.js';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Route } from '../auth/route.js';
import { JsonText } from '../http/json-answers.js';
import { AccessPolicy } from './access-policy.js';
import { MeAnswer, MeQuery } from './me.dto.js';

@ApiTags('identity')
@Controller('v1/me')
export class MeController {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly policy: AccessPolicy,
  ) {}

  @Route('GET', '', {
    access: 'caller',
    audit: null,
    operationId: 'getMe',
    summary: 'Get the subject, roles and claims of the caller',
    answer: MeAnswer,
    errors: ['anonymous_mode', 'invalid_parameter'],
  })
  me(@CurrentCaller() caller: Caller, @Query() { claims }: MeQuery): JsonText {
    if (!caller.identified) throw this.authenticator.unidentified();
    const answer: MeAnswer = {
      subject: caller.subject ?? '',
      ...(caller.name === undefined ? {} : { name: caller.name }),
      roles: [...this.policy.rolesOf(caller)],
      ...(claims === 'true' ? { claims: caller.claims } : {}),
    };
    return new JsonText(JSON.stringify(answer));
  }
}
