{{- define "registry.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "registry.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains (include "registry.name" .) .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "registry.name" .) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "registry.selector" -}}
app.kubernetes.io/name: {{ include "registry.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "registry.labels" -}}
{{ include "registry.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "registry.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "registry.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* The configuration, or an empty, read-only registry. Not merged: a partial default could grant access. */ -}}
{{- define "registry.config" -}}
{{- $config := .Values.config -}}
{{- if not $config -}}
{{- $config = dict
  "auth" (dict "mode" "anonymous")
  "readOnly" true
  "sources" (list (dict "name" "empty" "managed" dict))
  "registries" (list (dict "name" "default" "sources" (list "empty"))) -}}
{{- end -}}
{{- $database := dict "user" .Values.database.external.user "database" .Values.database.external.name "host" .Values.database.external.host "port" (int .Values.database.external.port) "sslMode" .Values.database.external.sslMode -}}
{{- with .Values.database.external.sslRootCertFile -}}
{{- $_ := set $database "sslRootCertFile" . -}}
{{- end -}}
{{- if include "registry.caKey" . -}}
{{- $_ := set $database "sslRootCertFile" "/run/secrets/database/ca.crt" -}}
{{- end -}}
{{- if eq .Values.database.kind "cloudnativepg" -}}
{{- $database = dict "user" "registry" "database" "registry" "host" (printf "%s-rw" (include "registry.cluster" .)) "port" 5432 "sslMode" "verify-full" "sslRootCertFile" "/run/secrets/database/ca.crt" -}}
{{- end -}}
{{- $_ := set $database "passwordFile" "/run/secrets/database/password" -}}
{{- $_ := set $database "pool" (dict "max" (int .Values.database.poolMax)) -}}
{{- toYaml (merge (dict "database" $database) $config) -}}
{{- end -}}

{{- define "registry.cluster" -}}
{{- default (printf "%s-db" (include "registry.fullname" .)) .Values.database.cloudnativepg.existingCluster -}}
{{- end -}}

{{- /* The name of the secret with the password. */ -}}
{{- define "registry.passwordSecret" -}}
{{- if eq .Values.database.kind "cloudnativepg" -}}
{{- printf "%s-app" (include "registry.cluster" .) -}}
{{- else if .Values.database.external.password -}}
{{- printf "%s-database" (include "registry.fullname" .) -}}
{{- else -}}
{{- required "database.external: set existingSecret or password" .Values.database.external.existingSecret -}}
{{- end -}}
{{- end -}}

{{- /* The key of the CA in the secret with the password; empty if the CA is elsewhere or not needed. */ -}}
{{- define "registry.caKey" -}}
{{- with .Values.database.external -}}
{{- if and (hasPrefix "verify-" .sslMode) (not .sslRootCertFile) (not .password) -}}
{{- .caKey -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The namespaces of kubernetes sources and of adminKubernetesNamespaces; "*" if a source watches all. */ -}}
{{- define "registry.watched" -}}
{{- $namespaces := default list .Values.config.adminKubernetesNamespaces -}}
{{- $all := false -}}
{{- range .Values.config.sources -}}
{{- if hasKey . "kubernetes" -}}
{{- if (.kubernetes).namespaces -}}
{{- $namespaces = concat $namespaces .kubernetes.namespaces -}}
{{- else -}}
{{- $all = true -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $all -}}
{{- list "*" | toJson -}}
{{- else -}}
{{- $namespaces | uniq | sortAlpha | toJson -}}
{{- end -}}
{{- end -}}

{{- /* At least preStop + shutdown.notice + 10 s; a pod that is killed earlier loses requests. */ -}}
{{- define "registry.gracePeriod" -}}
{{- $seconds := .Values.preStopSeconds | int | add 10 -}}
{{- range regexFindAll "[0-9]+[sm]" (dig "shutdown" "notice" "5s" .Values.config | toString) -1 -}}
{{- $seconds = regexFind "[0-9]+" . | int | mul (ternary 60 1 (hasSuffix "m" .)) | add $seconds -}}
{{- end -}}
{{- if lt (int .Values.terminationGracePeriodSeconds) (int $seconds) -}}
{{- fail (printf "terminationGracePeriodSeconds must be at least %d: preStopSeconds + config.shutdown.notice + 10" $seconds) -}}
{{- end -}}
{{- .Values.terminationGracePeriodSeconds -}}
{{- end -}}

{{- define "registry.rules" -}}
- apiGroups: [toolhive.stacklok.dev]
  resources: [mcpservers, virtualmcpservers, mcpremoteproxies]
  verbs: [list, watch]
{{- end -}}
