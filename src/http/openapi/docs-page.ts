// What runs in the browser, on the page of /docs. Swagger UI gets these functions as text, so each stands by itself: no
// imports, nothing of this file from inside a function.

interface DocsPage {
  readonly location: { readonly origin: string; readonly pathname: string };
  readonly ui: {
    getConfigs(): { oauth2RedirectUrl?: string };
    readonly authSelectors: { getConfigs(): { readonly scopes?: readonly string[] } | undefined };
  };
}
declare const window: DocsPage;

interface OutgoingRequest {
  readonly url: string;
  signal?: AbortSignal;
  curlOptions?: string[];
}

interface IncomingResponse {
  readonly url: string;
  readonly ok: boolean;
  text: string;
}

/**
 * Where the provider sends the browser back to. Swagger UI takes it for a sibling of the page's address, which is right for
 * `/docs/` and wrong for `/docs`; and only the browser knows under which host the page was opened.
 */
export function comeBackToThisHost(): void {
  const { origin, pathname } = window.location;
  window.ui.getConfigs().oauth2RedirectUrl = `${origin}${pathname.replace(/\/$/, '')}/oauth2-redirect.html`;
}

/** A provider that never answers must not hold up the page, which waits for its discovery document. */
export function limitDiscovery(request: OutgoingRequest): OutgoingRequest {
  request.curlOptions = [];
  if (request.url.endsWith('/.well-known/openid-configuration')) request.signal = AbortSignal.timeout(5000);
  return request;
}

/**
 * Swagger UI offers a form for every grant and a box for every scope in a provider's discovery document. For this page
 * only the code flow makes sense, and the scopes of this registry, which many providers don't list.
 */
export function offerCodeFlowOnly(response: IncomingResponse): IncomingResponse {
  if (!response.ok || !response.url.endsWith('/.well-known/openid-configuration')) return response;
  const discovery = JSON.parse(response.text) as { authorization_endpoint?: unknown };
  const scopes = window.ui.authSelectors.getConfigs()?.scopes ?? [];
  response.text = JSON.stringify({
    ...discovery,
    grant_types_supported: discovery.authorization_endpoint === undefined ? [] : ['authorization_code'],
    scopes_supported: [...new Set(['openid', ...scopes])],
  });
  return response;
}
