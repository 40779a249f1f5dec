import { readFileSync } from 'node:fs';
import { readJwt } from '../auth/token-claims.js';
import { oauthInUse, type ProviderConfig } from '../config/config.js';
import { type CallerForm, identify, type IdentifiedCaller } from '../explain/assumed-caller.js';
import type { OfflineAccess } from './offline-access.js';

/** The caller in a command (reference/explain): described as in a request, or by a file with a token. */
export interface OfflineCallerForm extends CallerForm {
  readonly tokenFile?: string;
}

/** A token file that cannot be read, or a token that no provider issues. */
export class UnknownToken extends Error {
  override readonly name = 'UnknownToken';
}

/**
 * Identifies a caller as a server with this configuration does. Tokens are decoded, not verified.
 *
 * @param reads name of the registry that the request reads; null for other requests.
 * @throws NoSuchCaller, UnknownToken
 */
export function identifyOffline(
  { config }: OfflineAccess,
  { tokenFile, ...form }: OfflineCallerForm,
  reads: string | null,
): Promise<IdentifiedCaller> {
  const oauth = oauthInUse(config.auth) ?? null;
  const named = tokenFile === undefined ? form : { token: tokenIn(tokenFile, oauth?.providers ?? []) };
  return identify(named, {
    oauth,
    reads,
    opening: config.registries.find(({ name }) => name === reads) ?? null,
    otherwise: 'refused',
    hasKey: (key) => config.registries.some(({ keys }) => keys.some(({ name }) => name === key)),
    knowsProviders: true,
  });
}

function tokenIn(file: string, providers: readonly ProviderConfig[]): NonNullable<CallerForm['token']> {
  const claims = readJwt(textOf(file).trim())?.payload;
  if (!claims) throw new UnknownToken(`${file} does not contain a JWT`);
  const issuing = providers.filter(({ issuerUrl }) => issuerUrl === claims['iss']);
  const audiences = [claims['aud']].flat();
  const [provider] = issuing.filter(({ audience }) => audiences.includes(audience));
  // Lightweight tokens have no audience; introspection adds it.
  const [only] = claims['aud'] === undefined && issuing.length === 1 ? issuing : [];
  const { name } = provider ?? only ?? {};
  if (name === undefined)
    throw new UnknownToken(
      issuing.length === 0
        ? `${file}: no provider is configured for the token's issuer, ${JSON.stringify(claims['iss'])}`
        : `${file}: no provider of this issuer accepts the token's audience, ${JSON.stringify(claims['aud'])}`,
    );
  return { provider: name, claims };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new UnknownToken(`${file} cannot be read`);
  }
}
