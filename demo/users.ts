/** A user of the demo's identity provider. */
export interface DemoUser {
  /** Login name, and the `sub` of the user's tokens. */
  readonly name: string;
  /** A short description. */
  readonly who: string;
  /** Claims of the user's tokens in addition to `sub`. */
  readonly claims: Readonly<Record<string, string | readonly string[]>>;
  /** What the user sees, given the claims and `registry.yaml`. */
  readonly sees: string;
}

const everyone = ['everyone'] as const;

/** `registry.yaml` grants access by these claims; a test checks `sees` against it. */
export const DEMO_USERS: readonly DemoUser[] = [
  {
    name: 'ada',
    who: 'super-admin',
    claims: { org: 'acme', role: 'super-admin', groups: everyone },
    sees: 'everything, and may change everything',
  },
  {
    name: 'max',
    who: 'administrator of acme, in both teams',
    claims: { org: 'acme', team: ['platform', 'data'], role: 'admin', groups: everyone },
    sees: 'every entry; manages the sources, registries and entries of acme',
  },
  {
    name: 'pia',
    who: 'publisher of the platform team',
    claims: { org: 'acme', team: ['platform'], role: 'publisher', groups: everyone },
    sees: "the platform team's entries, the company's and the community's; none of the data team; may publish",
  },
  {
    name: 'dev',
    who: 'developer of the data team',
    claims: { org: 'acme', team: ['data'], groups: everyone },
    sees: "the data team's entries, the company's and the community's; has no role",
  },
  {
    name: 'ext',
    who: 'member of another organization',
    claims: { org: 'contoso', groups: everyone },
    sees: 'the registry "community" only: "acme" returns 403',
  },
];
