/** Somebody the demo's identity provider knows. */
export interface DemoUser {
  /** What they log in with, and the `sub` of their tokens. */
  readonly name: string;
  /** Who that is, in a few words. */
  readonly who: string;
  /** What their tokens carry beside `sub`. */
  readonly claims: Readonly<Record<string, string | readonly string[]>>;
}

const everyone = ['everyone'] as const;

export const DEMO_USERS: readonly DemoUser[] = [
  {
    name: 'ada',
    who: 'super-admin',
    claims: { org: 'acme', role: 'super-admin', groups: everyone },
  },
  {
    name: 'max',
    who: 'administrator of acme, in both teams',
    claims: { org: 'acme', team: ['platform', 'data'], role: 'admin', groups: everyone },
  },
  {
    name: 'pia',
    who: 'publisher of the platform team',
    claims: { org: 'acme', team: ['platform'], role: 'publisher', groups: everyone },
  },
  {
    name: 'dev',
    who: 'developer of the data team',
    claims: { org: 'acme', team: ['data'], groups: everyone },
  },
  {
    name: 'ext',
    who: 'somebody of another organisation',
    claims: { org: 'contoso', groups: everyone },
  },
];
