import { Controller, Inject, Param, Req, Res } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { UNIDENTIFIED_CALLER } from '../auth/caller.js';
import { OAuthInForce } from '../auth/oauth-in-force.js';
import { Route } from '../auth/route.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { pageConfig } from '../config/slices.js';
import { ApiError } from '../http/errors.js';
import { codingFor, JsonText } from '../http/json-answers.js';
import {
  CACHE_CONTROL,
  PAGE_FILES,
  PageFile,
  type PageFiles,
  pageHeaders,
  PICTURE_HEADERS,
} from './web-ui-files.js';
import { PageSettings } from './web-ui.responses.js';

/** The web UI: its files, and the settings it needs before login. */
@ApiTags('page')
@Controller()
export class WebUiController {
  private readonly headers: () => Readonly<Record<string, string>>;
  private readonly settings: () => Omit<PageSettings, 'checksClaims'>;
  private readonly logo: PageFile | null;

  constructor(
    @Inject(pageConfig.KEY) { web }: ConfigType<typeof pageConfig>,
    inForce: OAuthInForce,
    private readonly policy: AccessPolicy,
    @Inject(PAGE_FILES) private readonly files: PageFiles,
  ) {
    const { logo } = web;
    this.logo = logo && new PageFile(logo.type, Buffer.from(logo.base64, 'base64'));
    this.headers = inForce.derive((oauth) => pageHeaders(oauth));
    this.settings = inForce.derive((oauth) => settingsOf(oauth, web));
  }

  /** Serves only requests that accept HTML: other clients get 404 at `/`. */
  @Route('GET', '', { access: 'public', audit: null, openApi: false })
  async index(@Req() request: Request, @Res() response: Response): Promise<void> {
    response.vary('Accept');
    const file = this.files.get('index.html');
    if (!file || !acceptsHtml(request)) throw new ApiError('route_not_found');
    response.setHeader('Cache-Control', CACHE_CONTROL.html);
    await this.send(request, response, file);
  }

  /**
   * Sends a browser that opens the base URL of a registry to the registry's page. It does so for every name, so that it
   * does not reveal which registries exist; a URL with a key has no page.
   */
  @Route('GET', 'registry/:registry', { access: 'public', audit: null, openApi: false })
  registry(@Param('registry') name: string, @Req() request: Request, @Res() response: Response): void {
    response.vary('Accept');
    if (!acceptsHtml(request) || request.registryKey) throw new ApiError('route_not_found');
    response.setHeader('Cache-Control', CACHE_CONTROL.html);
    // Relative to the address in the browser, which may have a prefix.
    const up = /^[^?]*\/(\?|$)/.test(request.originalUrl) ? '../..' : '..';
    response.setHeader('Location', `${up}/#/catalogue/${encodeURIComponent(name)}`);
    response.status(302).end();
  }

  @Route('GET', 'config.json', {
    access: 'public',
    audit: null,
    operationId: 'getPageSettings',
    summary:
      'The settings of the web UI: the mode and the login providers; absent when the web UI is disabled',
    answer: PageSettings,
    errors: ['route_not_found'],
  })
  config(): JsonText {
    const checksClaims = !this.policy.seesAll(UNIDENTIFIED_CALLER);
    const settings: PageSettings = { ...this.settings(), checksClaims };
    return new JsonText(JSON.stringify(settings));
  }

  @Route('GET', 'assets/:file', { access: 'public', audit: null, openApi: false })
  async asset(
    @Param('file') name: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const file = this.files.get(`assets/${name}`);
    if (!file) throw new ApiError('route_not_found');
    response.setHeader('Cache-Control', CACHE_CONTROL.assets);
    await this.send(request, response, file);
  }

  /** The image of `web.logo`. An SVG file opened as a page runs no scripts and loads nothing. */
  @Route('GET', 'logo', { access: 'public', audit: null, openApi: false })
  async picture(@Req() request: Request, @Res() response: Response): Promise<void> {
    if (!this.logo) throw new ApiError('route_not_found');
    response.setHeader('Cache-Control', CACHE_CONTROL.html);
    await this.send(request, response, this.logo, PICTURE_HEADERS);
  }

  private async send(
    request: Request,
    response: Response,
    file: PageFile,
    headers = this.headers(),
  ): Promise<void> {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.vary('Accept-Encoding');
    response.setHeader('ETag', file.etag);
    response.setHeader('Content-Type', file.type);
    if (request.headers['if-none-match']?.includes(file.etag)) {
      response.removeHeader('Content-Type');
      response.status(304).end();
      return;
    }
    const coding = codingFor(request);
    if (coding) response.setHeader('Content-Encoding', coding);
    const bytes = coding ? await file.in(coding) : file.bytes;
    response.setHeader('Content-Length', bytes.length);
    response.end(request.method === 'HEAD' ? undefined : bytes);
  }
}

function settingsOf(
  oauth: OAuthInForce['settings'],
  { logins, iconOrigins, title, logo, accent }: ConfigType<typeof pageConfig>['web'],
): Omit<PageSettings, 'checksClaims'> {
  const providers = oauth?.providers ?? [];
  return {
    mode: oauth ? 'oauth' : 'anonymous',
    logins: logins.flatMap(({ scopes, optionalScopes, ...login }) =>
      providers
        .filter(({ name }) => name === login.provider)
        .map(({ issuerUrl: issuer }) => ({
          ...login,
          issuer,
          scopes: [...scopes],
          optionalScopes: [...optionalScopes],
        })),
    ),
    hasIcons: iconOrigins.length > 0,
    title,
    hasLogo: logo !== null,
    ...(accent === null ? {} : { accent }),
  };
}

// Browsers list text/html, while other clients send `*/*`.
function acceptsHtml({ headers }: Request): boolean {
  return /\btext\/html\b/i.test(headers.accept ?? '');
}
