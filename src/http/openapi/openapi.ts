import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { stringify } from 'yaml';
import type { OAuthConfig } from '../../config/config.js';
import { comeBackToThisHost, limitDiscovery, offerCodeFlowOnly } from './docs-page.js';
import { describeTokens } from './openapi-security.js';

const ALIAS_PATH = /^\/registry\/\{registry\}\/v0\//;
const CONSUMER_PATH = /^\/registry(\/\{registry\}\/v0\.1\/|$)/;

/**
 * Documents every route at `/openapi.json` and `/docs`, and the consumer API alone at its `openapi.yaml`.
 *
 * @param oauth where tokens come from; undefined when none are asked for, and then nothing offers to send one.
 */
export function publishOpenApi(app: NestExpressApplication, oauth: OAuthConfig | undefined): void {
  const document = describeApi(app, oauth);
  const consumerYaml = stringify(consumerApi(document), { aliasDuplicateObjects: false });
  SwaggerModule.setup('docs', app, document, {
    jsonDocumentUrl: 'openapi.json',
    yamlDocumentUrl: 'openapi.yaml',
    customSiteTitle: 'Registry Server API',
    swaggerOptions: { validatorUrl: null, ...(oauth ? logInOptions(oauth) : {}) },
  });
  // The same bytes for every name: a public path must not tell which registries exist.
  app
    .getHttpAdapter()
    .getInstance()
    .get(
      ['/v0.1', '/v0', ''].map((version) => `/registry/:registry${version}/openapi.yaml`),
      (_: Request, response: Response) => {
        response.type('application/yaml').send(consumerYaml);
      },
    );
}

// The client id is for the person at the page to give: it belongs to the provider, and the configuration has none for browsers.
function logInOptions({ scopesSupported }: OAuthConfig): Record<string, unknown> {
  return {
    onComplete: comeBackToThisHost,
    requestInterceptor: limitDiscovery,
    responseInterceptor: offerCodeFlowOnly,
    initOAuth: { usePkceWithAuthorizationCodeGrant: true, scopes: scopesSupported },
  };
}

/** The OpenAPI 3.1 document of every route; with `oauth`, also how to send a token. */
export function describeApi(app: NestExpressApplication, oauth?: OAuthConfig): OpenAPIObject {
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Registry Server')
    .setVersion('1.0.0')
    .setDescription(
      'Catalogues of MCP servers and skills as named registries. The consumer API follows the MCP Registry v0.1 API ' +
        '(https://github.com/modelcontextprotocol/registry).',
    )
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addTag('catalog', 'The consumer API: what a registry holds')
    .addTag('discovery', 'Where tokens for this server come from')
    .addTag('identity', 'Who the caller is')
    .addTag('sources', 'The admin API: where entries come from')
    .addTag('registries', 'The admin API: which sources are shown together, and to whom')
    .addTag('entries', 'The admin API: publishing to the managed source')
    .build();
  const document = SwaggerModule.createDocument(app, config, {
    operationIdFactory: (controller, method, version) =>
      `${controller.replace(/Controller$/, '')}_${method}${version ? `_${version}` : ''}`,
  });
  // The alias has the handlers of the path it stands for, but an id may stand in the document only once.
  for (const [path, { get }] of Object.entries(document.paths))
    if (get && ALIAS_PATH.test(path)) get.operationId = `${get.operationId}_v0`;
  if (oauth) describeTokens(document, oauth);
  return document;
}

/** The consumer API alone, as clients of the MCP Registry expect to find it. */
export function consumerApi(document: OpenAPIObject): OpenAPIObject {
  const paths = Object.entries(document.paths).filter(([path]) => CONSUMER_PATH.test(path));
  return {
    ...document,
    paths: Object.fromEntries(paths),
    tags: (document.tags ?? []).filter((t) => t.name === 'catalog'),
  };
}
