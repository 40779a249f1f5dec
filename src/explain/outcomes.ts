/** The actions that can be explained (reference/explain). */
export const ACTIONS = ['see', 'manage', 'publish'] as const;
export type Action = (typeof ACTIONS)[number];

export const STEPS = [
  'token',
  'roles',
  'read_only',
  'registry',
  'gate',
  'source',
  'entry',
  'shadowing',
  'version',
  'content',
  'name',
  'claims',
  'admission',
  'origin',
] as const;
export type StepName = (typeof STEPS)[number];

/** `skipped` means not checked in this mode; `unknown_to_you` means that the outcome is hidden from the asker. */
export const STEP_OUTCOMES = ['passed', 'refused', 'absent', 'skipped', 'unknown_to_you'] as const;
export type StepOutcome = (typeof STEP_OUTCOMES)[number];

export const CONCLUSIONS = ['shown', 'hidden', 'refused', 'absent'] as const;
export type Conclusion = (typeof CONCLUSIONS)[number];
