#!/bin/sh
# Sets up a Keycloak realm for the recipe in docs/providers.md: an audience, a role for publishers, groups in tokens, a login for
# people and a client for CI. Prints the secrets of CI and of the client with which the registry introspects tokens.
# KC_CLI_PASSWORD: the password of admin, if there is no terminal
set -eu
KEYCLOAK=${KEYCLOAK:-https://keycloak.example.com}
REGISTRY=${REGISTRY:-https://registry.example.com}
kcadm.sh config credentials --server "$KEYCLOAK" --realm master --user admin
kcadm.sh create realms -s realm=acme -s enabled=true     # unless you have one
# The audience of the tokens. This client also owns the registry's roles and introspects tokens.
kcadm.sh create clients -r acme -s clientId=registry -s publicClient=false -s standardFlowEnabled=false
API=$(kcadm.sh get clients -r acme -q clientId=registry --fields id --format csv --noquotes)
kcadm.sh create clients/$API/roles -r acme -s name=writer
kcadm.sh create roles -r acme -s name=registry-admin
# A client scope with an audience mapper and a group mapper.
SCOPE=$(kcadm.sh create client-scopes -r acme -i -f - <<'EOF'
{ "name": "registry", "protocol": "openid-connect", "attributes": { "include.in.token.scope": "false" }, "protocolMappers": [
  { "name": "audience", "protocol": "openid-connect", "protocolMapper": "oidc-audience-mapper",
    "config": { "included.client.audience": "registry", "access.token.claim": "true", "introspection.token.claim": "true" } },
  { "name": "groups", "protocol": "openid-connect", "protocolMapper": "oidc-group-membership-mapper",
    "config": { "claim.name": "groups", "full.path": "true", "access.token.claim": "true", "introspection.token.claim": "true" } } ] }
EOF
)
# Login for people, and a client for CI.
PAGE=$(kcadm.sh create clients -r acme -i -s clientId=registry-page -s publicClient=true -s 'webOrigins=["+"]' \
  -s "redirectUris=[\"$REGISTRY/\",\"$REGISTRY/docs/oauth2-redirect.html\"]")
CI=$(kcadm.sh create clients -r acme -i -s clientId=registry-ci -s publicClient=false -s standardFlowEnabled=false -s serviceAccountsEnabled=true)
for CLIENT in $PAGE $CI; do kcadm.sh update clients/$CLIENT/default-client-scopes/$SCOPE -r acme; done
kcadm.sh add-roles -r acme --uusername service-account-registry-ci --cclientid registry --rolename writer
for CLIENT in $CI $API; do
  kcadm.sh get clients/$CLIENT -r acme --fields clientId --format csv --noquotes
  kcadm.sh get clients/$CLIENT/client-secret -r acme --fields value --format csv --noquotes
done
# Next: create the group /teams/platform, add its members, and give administrators of the registry the realm role registry-admin.
