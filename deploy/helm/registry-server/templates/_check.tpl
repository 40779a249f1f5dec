{{- /* Refuses values that contradict each other or would not do what they say, all at once. */ -}}
{{- define "registry.check" -}}
{{- $problems := list -}}
{{- with .Values -}}
{{- if hasKey .config "database" -}}
{{- $problems = append $problems "config.database: set `database` instead; the chart writes this section" -}}
{{- end -}}
{{- if hasKey .files "registry.yaml" -}}
{{- $problems = append $problems "files: registry.yaml is the configuration; set `config` instead" -}}
{{- end -}}
{{- range .existingSecrets -}}
{{- if has . (list "database" "registry") -}}
{{- $problems = append $problems (printf "existingSecrets: the chart uses /run/secrets/%s itself; rename the secret" .) -}}
{{- end -}}
{{- end -}}
{{- if eq .database.kind "external" -}}
{{- with .database.external -}}
{{- if and (not .password) (not .existingSecret) (or .passwordKey .migrationUser) -}}
{{- $problems = append $problems "database.external: set existingSecret or password, or `passwordKey: ''` with a client certificate" -}}
{{- end -}}
{{- if and (not .password) (not .passwordKey) (not .sslCertFile) -}}
{{- $problems = append $problems "database.external: without passwordKey, sslCertFile and sslKeyFile must authenticate the server" -}}
{{- end -}}
{{- if ne (empty .sslCertFile) (empty .sslKeyFile) -}}
{{- $problems = append $problems "database.external: sslCertFile and sslKeyFile need each other" -}}
{{- end -}}
{{- if and .migrationUser .password -}}
{{- $problems = append $problems "database.external.migrationUser: needs existingSecret instead of password, with a key for each of the two roles" -}}
{{- end -}}
{{- end -}}
{{- else if .database.external.migrationUser -}}
{{- $problems = append $problems "database.external.migrationUser: has no effect with database.kind cloudnativepg, whose role owns the database" -}}
{{- end -}}
{{- with dig "limits" "memory" "" .resources -}}
{{- $half := div (include "registry.mebibytes" . | int64) 2 -}}
{{- if gt (int64 $.Values.heapMebibytes) $half -}}
{{- $problems = append $problems (printf "heapMebibytes: %d is more than half of resources.limits.memory, %s; caches, responses and files need the other half. Set at most %d, or raise the limit" (int64 $.Values.heapMebibytes) (toString .) $half) -}}
{{- end -}}
{{- end -}}
{{- if and .autoscaling.enabled (gt (int .autoscaling.minReplicas) (int .autoscaling.maxReplicas)) -}}
{{- $problems = append $problems (printf "autoscaling: minReplicas, %d, exceeds maxReplicas, %d" (int .autoscaling.minReplicas) (int .autoscaling.maxReplicas)) -}}
{{- end -}}
{{- if and .ingress.enabled (not .ingress.hosts) -}}
{{- $problems = append $problems "ingress.hosts: name at least one host; a rule without one would serve every host of the controller" -}}
{{- end -}}
{{- if and .gateway.enabled (not .gateway.parentRefs) -}}
{{- $problems = append $problems "gateway.parentRefs: name at least one gateway; a route without one is attached to nothing" -}}
{{- end -}}
{{- if .networkPolicy.enabled -}}
{{- if not .networkPolicy.dns -}}
{{- $problems = append $problems "networkPolicy.dns: name at least one peer; an empty list would allow port 53 of every address" -}}
{{- end -}}
{{- range $position, $rule := .networkPolicy.egress -}}
{{- if not $rule.ports -}}
{{- $problems = append $problems (printf "networkPolicy.egress[%d]: name its ports; a rule without them allows every port" $position) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $seconds := .preStopSeconds | int | add 10 -}}
{{- range regexFindAll "[0-9]+[sm]" (dig "shutdown" "notice" "5s" .config | toString) -1 -}}
{{- $seconds = regexFind "[0-9]+" . | int | mul (ternary 60 1 (hasSuffix "m" .)) | add $seconds -}}
{{- end -}}
{{- if lt (int .terminationGracePeriodSeconds) (int $seconds) -}}
{{- $problems = append $problems (printf "terminationGracePeriodSeconds: must be at least %d (preStopSeconds + config.shutdown.notice + 10); a pod that is killed earlier loses requests" $seconds) -}}
{{- end -}}
{{- end -}}
{{- if $problems -}}
{{- fail (printf "these values are refused:\n- %s" (join "\n- " $problems)) -}}
{{- end -}}
{{- end -}}
