import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type Caller, Client, CurrentCaller, CurrentClient } from '../auth/caller.js';
import { Audited, RequiresRole, ResourceRoute } from '../auth/route.js';
import { WritesNothing } from '../authz/roles.guard.js';
import { TakesBody } from '../http/body.js';
import { ApiErrors } from '../http/openapi/api-answers.js';
import { CurrentRequest, type RequestContext } from '../http/request-context.js';
import { DnsNamePipe } from '../http/validation.pipe.js';
import { SOURCE_EXAMPLES, SourceBody, SourceSettings } from '../source-kinds/source-settings.dto.js';
import { SourceTestAnswer } from './source-test.responses.js';
import { SourceTests } from './source-test.service.js';

@ApiTags('sources')
@Controller('v1/sources/:name/test')
@RequiresRole('manageSources')
@ApiErrors('database_unavailable', 'database_timeout')
export class SourceTestController {
  constructor(private readonly tests: SourceTests) {}

  @Post()
  @HttpCode(200)
  @Audited('source.validate')
  @TakesBody()
  @WritesNothing(() => true)
  @ResourceRoute({ resource: 'source', use: 'put' })
  @ApiOperation({
    operationId: 'testSource',
    summary: 'Reads a source with these settings once, and stores nothing',
    description:
      'Takes the body of `PUT /v1/sources/{name}`, with the same checks. The answer counts what a sync would read, ' +
      'before admission. A test takes at most 20 seconds.',
  })
  @ApiBody({ type: SourceSettings, examples: SOURCE_EXAMPLES })
  @ApiOkResponse({ type: SourceTestAnswer })
  @ApiErrors(
    'invalid_name',
    'not_synced',
    'path_not_allowed',
    'namespace_not_allowed',
    'too_many_claims',
    'claims_required',
    'claims_not_subset',
    'settings_too_long',
    'too_many_requests',
    'overloaded',
  )
  test(
    @CurrentCaller() caller: Caller,
    @CurrentClient() client: Client,
    @Param('name', DnsNamePipe) name: string,
    @Body() body: SourceBody,
    @CurrentRequest() context: RequestContext,
  ): Promise<SourceTestAnswer> {
    return this.tests.test(caller, client, name, body, context);
  }
}
