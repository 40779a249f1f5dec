import { Logger } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { authorizationConfig } from '../config/slices.js';
import { authorizationForm } from './access-policy-choice.js';

/** spec §1.2 prescribes the text. */
export function warnIfAuthOnly(auth: ConfigType<typeof authorizationConfig>): void {
  if (authorizationForm(auth).mode === 'auth-only')
    new Logger('authz').warn(
      'Authorization not configured, per-entry claims filtering disabled (auth-only mode)',
    );
}
