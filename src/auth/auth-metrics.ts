import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { Metrics } from '../telemetry/metrics.js';

export type AuthOutcome = 'accepted' | 'refused' | 'incomplete' | 'unavailable' | 'limited';

/** Counts token verifications by identity provider. */
@Injectable()
export class AuthMetrics {
  private readonly outcomes: Counter<'provider' | 'outcome' | 'reason'>;

  constructor({ register }: Metrics) {
    this.outcomes = new Counter({
      name: 'registry_authentications_total',
      help: 'Verified tokens by identity provider, outcome and reason; a token refused by several providers counts once for each',
      labelNames: ['provider', 'outcome', 'reason'],
      registers: [register],
    });
  }

  /** @param provider name in the configuration. */
  accepted(provider: string): void {
    this.outcomes.inc({ provider, outcome: 'accepted', reason: '' });
  }

  /** @param reason a label from a fixed list: it never contains token data. */
  failed(provider: string, outcome: Exclude<AuthOutcome, 'accepted'>, reason: string): void {
    this.outcomes.inc({ provider, outcome, reason });
  }

  /** Counts a request without a verifiable token. */
  missing(reason: 'no_token' | 'unusable'): void {
    this.outcomes.inc({ provider: '', outcome: 'refused', reason });
  }
}
