import { Injectable } from '@nestjs/common';
import { type Caller, callerKeyOf } from '../auth/caller.js';
import { CatalogService } from '../catalog/catalog.service.js';
import { bareListRequest, serverListRequest } from '../catalog/list-request.js';
import { SearchLimit } from '../catalog/search-limits.js';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { JsonText } from '../http/json-answers.js';
import type { Client } from '../http/request-context.js';
import { RegistriesService } from '../registries/registries.service.js';
import { RegistryViews, type VerifiedAccess } from '../visibility/registry-views.js';
import type { PreviewBody } from './explain.dto.js';
import { ClaimSetCounts } from './explain.queries.js';
import { AssumedCallers } from './assumed-caller.js';
import { refusalOf } from './question.js';
import { firstRefusal, SHOWN } from './steps.js';

const NO_ENTRIES = Object.fromEntries(ENTRY_TYPE_NAMES.map((type) => [type, 0]));

/** Shows registry managers the page that a caller with other claims would get (reference/explain). */
@Injectable()
export class PreviewService {
  constructor(
    private readonly registries: RegistriesService,
    private readonly views: RegistryViews,
    private readonly catalog: CatalogService,
    private readonly counts: ClaimSetCounts,
    private readonly searches: SearchLimit,
    private readonly callers: AssumedCallers,
  ) {}

  /** @throws ApiError 404 `registry_not_found` if the registry is missing or hidden from the asker. */
  async preview(asker: Caller, client: Client, body: PreviewBody): Promise<JsonText> {
    await this.registries.load(asker, body.registry, 'read');
    return this.searches.run(callerKeyOf(asker, client), client.abortSignal(), () =>
      this.show(asker, body, client),
    );
  }

  private async show(
    asker: Caller,
    { registry, as, type = 'server' }: PreviewBody,
    client: Client,
  ): Promise<JsonText> {
    let access: VerifiedAccess | undefined;
    const { caller, step } = await this.callers.identify(asker, as, registry);
    const refusal =
      firstRefusal([step]) ??
      (await refusalOf(async () => {
        if (caller) access = await this.views.enter(caller, client, registry);
      }));
    if (!access) return answer(refusal ?? SHOWN, NO_ENTRIES, 'null');
    const page = await this.catalog.list(access, type, firstPage(type));
    return answer(SHOWN, await this.counts.ofView(access.view), page.bytes.toString());
  }
}

function firstPage(type: EntryType) {
  return type === 'server' ? serverListRequest({}) : bareListRequest(type, {});
}

// The page is copied byte for byte, so that documents are not parsed again.
function answer(status: object, counts: object, page: string): JsonText {
  return new JsonText(
    `{"answer":${JSON.stringify(status)},"counts":${JSON.stringify(counts)},"page":${page}}`,
  );
}
