import { Body, Controller, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Route } from '../auth/route.js';
import { Client, CurrentClient, CurrentRequest, type RequestContext } from '../http/request-context.js';
import { DnsNamePipe } from '../http/validation.pipe.js';
import { SOURCE_EXAMPLES, SourceBody, SourceSettings } from '../source-kinds/source-settings.dto.js';
import { SOURCE_SETTINGS_ERRORS } from '../sources/sources.controller.js';
import { SourceTestAnswer } from './source-test.responses.js';
import { SourceTests } from './source-test.service.js';

@ApiTags('sources')
@Controller('v1/sources/:name/test')
export class SourceTestController {
  constructor(private readonly tests: SourceTests) {}

  @Route('POST', '', {
    access: 'manageSources',
    audit: 'source.validate',
    loads: { resource: 'source', use: 'put' },
    body: { type: SourceSettings, examples: SOURCE_EXAMPLES },
    writesNothing: true,
    operationId: 'testSource',
    summary: 'Reads a source with these settings once, and stores nothing',
    description:
      'Takes the body of `PUT /v1/sources/{name}`, with the same checks. The response counts what a sync would read, ' +
      'before admission. A test takes at most 20 seconds.',
    answer: SourceTestAnswer,
    errors: ['invalid_name', 'not_synced', ...SOURCE_SETTINGS_ERRORS, 'too_many_requests', 'overloaded'],
  })
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
