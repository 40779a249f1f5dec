#!/usr/bin/env bash
# Copies the published entries of a ToolHive registry server (docs/migrating.md) or of an earlier build of this one: creates a registry
# there with only the managed source, reads it and publishes its entries here. Stops at an entry whose claims are unknown. Safe to
# repeat. Needs jq and curl 7.82 or newer, and super-admin tokens for both servers.
# OLD, NEW: https://…; OLD_TOKEN, NEW_TOKEN; MANAGED: the name of the managed source on the old server
set -euo pipefail
old() { curl -sS --fail -H "Authorization: Bearer $OLD_TOKEN" "$OLD$1" "${@:2}"; }
pages() {
  local page cursor=
  while true; do
    page=$(old "$1?limit=100&cursor=$cursor")
    printf '%s\n' "$page"
    cursor=$(jq -r '.metadata.nextCursor // "" | @uri' <<< "$page")
    [ -n "$cursor" ] || break
  done
}

old /v1/registries/export -X PUT --json "{\"sources\":[\"$MANAGED\"]}" > /dev/null
claims=$(old "/v1/sources/$MANAGED/entries" | jq -c '[.entries[] |
  { key: ((.entryType // { server: "MCP", skill: "SKILL" }[.type] // "") + " " + .name), value: (.claims // {}) }] | from_entries')
API=/registry/export/v0.1
pages "$API/servers" |
  jq -c --argjson claims "$claims" '.servers[].server |
    { server: ., claims: ($claims["MCP " + .name] // error("The claims of \(.name) are unknown")) }' > published.jsonl
pages "$API/x/dev.toolhive/skills" | jq -r '.skills[] | .namespace + "/" + .name' | while read -r skill; do
  old "$API/x/dev.toolhive/skills/$skill/versions" |
    jq -c --argjson claims "$claims" --arg skill "$skill" '.skills[] | { skill: .,
      claims: ($claims["SKILL " + $skill] // $claims["SKILL " + .name] // error("The claims of \($skill) are unknown")) }'
done >> published.jsonl

while IFS= read -r body; do
  jq -j '(.server // .skill) | ([.namespace, .name] | map(values) | join("/")) + " " + .version + ": "' <<< "$body"
  printf '%s' "$body" | curl -sS -H "Authorization: Bearer $NEW_TOKEN" --json @- "$NEW/v1/entries" |
    jq -r 'if .code == "version_exists" then "is published or waits for review already" elif .error then (.details // [.error]) | join("; ")
      elif .admission then "waits for review" else "published" end'
done < published.jsonl
