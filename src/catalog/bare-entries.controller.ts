import { Controller, Param, Query, type Type } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { BARE_TYPES, type BareType, ENTRY_TYPES } from '../documents/entry-types.js';
import type { CachedJson } from '../http/json-answers.js';
import { describedClass, documentClassOf, nounOf } from '../http/openapi/document-classes.js';
import { CatalogAccess, CatalogRead, type RegistryAccess } from '../visibility/registry-views.js';
import { PageMetadata } from './catalog.responses.js';
import { CatalogService } from './catalog.service.js';
import { BareListQuery, VersionQuery, VersionsQuery } from './list-query.dto.js';
import { bareListRequest, includesDeleted, versionsRequest } from './list-request.js';

const NAMESPACE = { name: 'namespace', type: String, example: 'io.github.example' };
const NAME = { name: 'name', type: String, example: 'code-review' };
const VERSION = {
  name: 'version',
  type: String,
  description: '`latest` or an exact version',
  example: 'latest',
};

/** Creates the controller for a type whose documents are served without a wrapper, such as skills. */
function controllerOf(type: BareType): Type {
  const { listKey, path } = ENTRY_TYPES[type];
  const noun = nounOf(type);
  const document = documentClassOf(type);
  const listed = describedClass(`${noun}List`, {
    [listKey]: { type: [document] },
    metadata: { type: PageMetadata },
  });

  @ApiTags('catalog')
  @Controller([`registry/:registry/v0.1/${path}`, `registry/:registry/v0/${path}`])
  class BareEntriesController {
    constructor(private readonly catalog: CatalogService) {}

    @CatalogRead('', type, {
      operationId: `list${noun}s`,
      summary: `The latest versions of all ${listKey}, by name`,
      answer: listed,
      errors: ['invalid_parameter', 'invalid_cursor', 'search_too_broad'],
    })
    list(@CatalogAccess() access: RegistryAccess, @Query() query: BareListQuery): Promise<CachedJson> {
      return this.catalog.list(access, type, bareListRequest(type, query));
    }

    @CatalogRead(':namespace/:name', type, {
      operationId: `get${noun}`,
      summary: `The latest version of a ${type}`,
      parameters: [NAMESPACE, NAME],
      answer: document,
      errors: ['invalid_parameter', 'entry_not_found'],
    })
    latest(
      @CatalogAccess() access: RegistryAccess,
      @Param('namespace') namespace: string,
      @Param('name') name: string,
      @Query() query: VersionQuery,
    ): Promise<CachedJson> {
      return this.catalog.version(access, type, `${namespace}/${name}`, 'latest', includesDeleted(query));
    }

    @CatalogRead(':namespace/:name/versions', type, {
      operationId: `list${noun}Versions`,
      summary: `All versions of a ${type}, newest first`,
      parameters: [NAMESPACE, NAME],
      answer: listed,
      errors: ['invalid_parameter', 'invalid_cursor', 'entry_not_found'],
    })
    versions(
      @CatalogAccess() access: RegistryAccess,
      @Param('namespace') namespace: string,
      @Param('name') name: string,
      @Query() query: VersionsQuery,
    ): Promise<CachedJson> {
      const entry = `${namespace}/${name}`;
      return this.catalog.versions(access, type, entry, versionsRequest(entry, query));
    }

    @CatalogRead(':namespace/:name/versions/:version', type, {
      operationId: `get${noun}Version`,
      summary: `One version of a ${type}`,
      parameters: [NAMESPACE, NAME, VERSION],
      answer: document,
      errors: ['invalid_parameter', 'entry_not_found', 'version_not_found'],
    })
    version(
      @CatalogAccess() access: RegistryAccess,
      @Param('namespace') namespace: string,
      @Param('name') name: string,
      @Param('version') version: string,
      @Query() query: VersionQuery,
    ): Promise<CachedJson> {
      return this.catalog.version(access, type, `${namespace}/${name}`, version, includesDeleted(query));
    }
  }

  // Gives each class a distinct name for logs and tests.
  Object.defineProperty(BareEntriesController, 'name', { value: `${noun}sController` });
  return BareEntriesController;
}

export const BARE_ENTRY_CONTROLLERS: readonly Type[] = BARE_TYPES.map(controllerOf);
