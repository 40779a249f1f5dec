import type { Demo } from './demo.js';
import { FIRST_PUBLICATION } from './first-publication.js';
import { DOCS_CLIENT } from './provider.js';
import { DEMO_USERS } from './users.js';

/** The text that the demo prints when ready: addresses, a curl command for each user, and one that publishes. */
export async function welcome({ origin, issuer, tokenFor }: Demo): Promise<string> {
  const users = DEMO_USERS.map(
    async ({ name, who, sees }) => `${name}, ${who}
  sees ${sees}
  curl -H 'Authorization: Bearer ${await tokenFor(name)}' '${origin}/registry/acme/v0.1/servers?version=latest'`,
  );
  const claims = JSON.stringify(FIRST_PUBLICATION.claims);
  return `
The demo is ready, for development only: its identity provider never asks for a password.

  Web UI              ${origin}/
  API reference       ${origin}/docs
  Identity provider   ${issuer}

Log in at /docs: press Authorize; under "demo" enter the client id ${DOCS_CLIENT}, press Authorize and choose a user.
Or paste a token from the lines below under "bearer". Tokens are valid for 8 hours, while the demo runs.

${(await Promise.all(users)).join('\n\n')}

To publish a server as pia, hidden from dev and ext by its claims (${claims}):
  curl -X POST -H 'Authorization: Bearer ${await tokenFor('pia')}' -H 'Content-Type: application/json' --data '${JSON.stringify(FIRST_PUBLICATION)}' '${origin}/v1/entries'

More to try with each: /v1/me, /registry, /v1/sources, /v1/entries, /registry/community/v0.1/servers.
Without a token: curl -i ${origin}/registry

Ctrl-C ends the demo and removes its data.
`;
}
