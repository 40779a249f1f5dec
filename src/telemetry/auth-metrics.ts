import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { Metrics } from './metrics.js';

export type AuthOutcome = 'accepted' | 'refused' | 'incomplete' | 'unavailable' | 'limited';

/** Sentences that say why a token was refused, and the label of each: labels never come from a token. */
const REASONS: Readonly<Record<string, string>> = {
  'the token has expired': 'expired',
  'jwt expired': 'expired',
  'the token is not valid yet': 'not_yet_valid',
  'jwt not active': 'not_yet_valid',
  'the token has no expiry': 'no_expiry',
  'the expiry is malformed': 'malformed',
  'the "not before" time is malformed': 'malformed',
  'the subject is malformed': 'malformed',
  'the key id is malformed': 'malformed',
  'jwt malformed': 'malformed',
  'invalid token': 'malformed',
  'the token is no JWT': 'no_jwt',
  'the issuer is another one': 'other_issuer',
  'the audience is another one': 'other_audience',
  'the audience is missing or malformed': 'other_audience',
  'the type is not that of an access token': 'other_type',
  'the algorithm is not accepted': 'algorithm',
  'the header demands extensions': 'algorithm',
  'the provider has no such key': 'unknown_key',
  'invalid signature': 'signature',
  'jwt signature is required': 'signature',
  'the token is not active': 'not_active',
};

/** Metrics of who is let in: what each identity provider said of the tokens it was asked about. */
@Injectable()
export class AuthMetrics {
  private readonly outcomes: Counter<'provider' | 'outcome' | 'reason'>;

  constructor({ register }: Metrics) {
    this.outcomes = new Counter({
      name: 'registry_authentications_total',
      help: 'Tokens by identity provider: accepted, or why not; a token that several providers refuse counts once for each',
      labelNames: ['provider', 'outcome', 'reason'],
      registers: [register],
    });
  }

  /** @param provider its name in the configuration. */
  accepted(provider: string): void {
    this.outcomes.inc({ provider, outcome: 'accepted', reason: '' });
  }

  /** @param reason the sentence for the log, of which only known ones become a label. */
  failed(provider: string, outcome: Exclude<AuthOutcome, 'accepted'>, reason: string): void {
    const known = Object.hasOwn(REASONS, reason) ? REASONS[reason] : undefined;
    this.outcomes.inc({ provider, outcome, reason: known ?? 'other' });
  }

  /** A request without a usable token, which no provider was asked about. */
  missing(reason: 'no_token' | 'unusable'): void {
    this.outcomes.inc({ provider: '', outcome: 'refused', reason });
  }
}
