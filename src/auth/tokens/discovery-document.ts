import { isObject } from '../../json/json-values.js';
import { isInsecure, parseHttpUrl } from '../../validation/urls.js';
import { type ProviderHttp, ProviderUnavailable } from './provider-http.js';

/** Where a provider's discovery document names one of its endpoints. */
export type DiscoveredEndpoint = 'jwks_uri' | 'userinfo_endpoint';

/**
 * The address of an endpoint by OpenID Connect Discovery 1.0 (§4): a document of another issuer must not be used.
 *
 * @throws ProviderUnavailable
 */
export async function discoverEndpoint(
  endpoint: DiscoveredEndpoint,
  issuerUrl: string,
  http: ProviderHttp,
  insecureUrls: boolean,
): Promise<string> {
  const url = `${issuerUrl.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = await http.getJson(url);
  const { issuer, [endpoint]: address } = isObject(document) ? document : {};
  if (issuer !== issuerUrl)
    throw new ProviderUnavailable(`${url}: its issuer is ${quote(issuer)} and not ${quote(issuerUrl)}`);
  if (typeof address !== 'string' || !isTrustworthy(address, insecureUrls))
    throw new ProviderUnavailable(`${url}: its ${endpoint} is missing, or not an https URL`);
  return address;
}

function isTrustworthy(text: string, insecureUrls: boolean): boolean {
  const url = parseHttpUrl(text);
  return url !== undefined && (insecureUrls || !isInsecure(url));
}

function quote(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 200)) : 'missing';
}
