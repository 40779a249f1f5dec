import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type Caller, Client, CurrentCaller, CurrentClient } from '../auth/caller.js';
import { AnyCaller, Audited, MayBeLong, RequiresRole } from '../auth/route.js';
import { WritesNothing } from '../authz/roles.guard.js';
import { TakesBody } from '../http/body.js';
import { JsonText } from '../http/json-answers.js';
import { ApiErrors } from '../http/openapi/api-answers.js';
import { BodyValidation } from '../http/validation.pipes.js';
import { ExplainBody, PreviewBody } from './access.dto.js';
import { AccessPreview, Explanation } from './access.responses.js';
import { ExplainService } from './explain/explain.service.js';
import { PreviewService } from './preview.service.js';

@ApiTags('access')
@Controller('v1/access')
@ApiErrors('database_unavailable', 'database_timeout')
export class AccessController {
  constructor(
    private readonly explanations: ExplainService,
    private readonly previews: PreviewService,
  ) {}

  @Post('explain')
  @HttpCode(200)
  @TakesBody()
  @AnyCaller()
  @Audited('access.read')
  @WritesNothing(() => true)
  @ApiOperation({
    operationId: 'explainAccess',
    summary:
      'Why a caller sees a registry or an entry, may manage it or publish to it, or not; writes nothing',
  })
  @ApiBody({ type: ExplainBody })
  @ApiOkResponse({ type: Explanation })
  @ApiErrors('role_required', 'too_many_requests')
  explain(
    @CurrentCaller() caller: Caller,
    @CurrentClient() client: Client,
    @Body(new BodyValidation(ExplainBody)) { as, ...question }: ExplainBody,
  ): Promise<Explanation> {
    return this.explanations.explain(caller, client, question, as?.claims);
  }

  @Post('preview')
  @HttpCode(200)
  @TakesBody()
  @RequiresRole('manageRegistries')
  @MayBeLong('always')
  @Audited('access.read')
  @WritesNothing(() => true)
  @ApiOperation({
    operationId: 'previewAccess',
    summary:
      'What a caller with other claims sees of a registry: the first page, and how many there are; writes nothing',
  })
  @ApiBody({ type: PreviewBody })
  @ApiOkResponse({ type: AccessPreview })
  @ApiErrors('registry_not_found')
  preview(
    @CurrentCaller() caller: Caller,
    @CurrentClient() client: Client,
    @Body(new BodyValidation(PreviewBody)) body: PreviewBody,
  ): Promise<JsonText> {
    return this.previews.preview(caller, client, body);
  }
}
