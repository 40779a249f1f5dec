import type { ArrayValues, Claims } from '../claims/claims.js';

/** What decided where no claims were compared. */
export type Because = 'mode' | 'superAdmin' | 'unlabeled: allow' | 'unlabeled: deny' | 'unlabeled';

/** How the policy has decided one check (contract §10). */
export interface Judgement {
  readonly allowed: boolean;
  /** The claims that were asked for. */
  readonly required?: Claims;
  /** How arrays in them are read. */
  readonly arrays?: ArrayValues;
  /** Of a role: the maps of which any grants it. */
  readonly rules?: readonly Claims[];
  readonly because?: Because;
}

/** Is told how each check was decided, by the code that decides it. Ordinary requests pass none, and pay nothing. */
export type Recorder = (judgement: Judgement) => void;
