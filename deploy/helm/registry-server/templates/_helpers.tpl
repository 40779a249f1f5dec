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
{{- range $file := list "sslRootCertFile" "sslCertFile" "sslKeyFile" -}}
{{- with index $.Values.database.external $file -}}
{{- $_ := set $database $file . -}}
{{- end -}}
{{- end -}}
{{- if include "registry.caKey" . -}}
{{- $_ := set $database "sslRootCertFile" "/run/secrets/database/ca.crt" -}}
{{- end -}}
{{- if eq .Values.database.kind "cloudnativepg" -}}
{{- $database = dict "user" "registry" "database" "registry" "host" (printf "%s-rw" (include "registry.cluster" .)) "port" 5432 "sslMode" "verify-full" "sslRootCertFile" "/run/secrets/database/ca.crt" -}}
{{- end -}}
{{- if include "registry.passwordKey" . -}}
{{- $_ := set $database "passwordFile" "/run/secrets/database/password" -}}
{{- end -}}
{{- $_ := set $database "pool" (dict "max" (int .Values.database.poolMax)) -}}
{{- toYaml (merge (dict "database" $database) $config) -}}
{{- end -}}

{{- define "registry.cluster" -}}
{{- default (printf "%s-db" (include "registry.fullname" .)) .Values.database.cloudnativepg.existingCluster -}}
{{- end -}}

{{- /* The name of the secret with the passwords. */ -}}
{{- define "registry.passwordSecret" -}}
{{- if eq .Values.database.kind "cloudnativepg" -}}
{{- printf "%s-app" (include "registry.cluster" .) -}}
{{- else if .Values.database.external.password -}}
{{- printf "%s-database" (include "registry.fullname" .) -}}
{{- else -}}
{{- .Values.database.external.existingSecret -}}
{{- end -}}
{{- end -}}

{{- /* The key of the password in its secret; empty if a client certificate replaces it. */ -}}
{{- define "registry.passwordKey" -}}
{{- if or (eq .Values.database.kind "cloudnativepg") .Values.database.external.password -}}
password
{{- else -}}
{{- .Values.database.external.passwordKey -}}
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

{{- define "registry.rules" -}}
- apiGroups: [toolhive.stacklok.dev]
  resources: [mcpservers, virtualmcpservers, mcpremoteproxies]
  verbs: [list, watch]
{{- end -}}

{{- define "registry.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
image: {{ printf "%s@%s" .repository .digest }}
{{- else -}}
image: {{ printf "%s:%s" .repository (default $.Chart.AppVersion .tag) }}
{{- end }}
imagePullPolicy: {{ .pullPolicy }}
{{- end }}
{{- end -}}

{{- define "registry.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end -}}

{{- define "registry.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  {{- range $name, $id := .Values.podSecurityContext }}
  {{- if not (kindIs "invalid" $id) }}
  {{ $name }}: {{ int64 $id }}
  {{- end }}
  {{- end }}
  seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- /* Where and as whom pods of the release run. */ -}}
{{- define "registry.scheduling" -}}
serviceAccountName: {{ include "registry.serviceAccount" . }}
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{ include "registry.podSecurity" . }}
{{- end -}}

{{- /* Variables of a container that runs the server's program: list of the context and whether it migrates. */ -}}
{{- define "registry.environment" -}}
{{- $migrates := index . 1 -}}
{{- with index . 0 -}}
env:
  - name: NODE_OPTIONS
    value: --max-old-space-size={{ .Values.heapMebibytes }}
  {{- if and $migrates .Values.database.external.migrationUser }}
  - { name: REGISTRY_DATABASE_MIGRATION_USER, value: {{ .Values.database.external.migrationUser | quote }} }
  - { name: REGISTRY_DATABASE_MIGRATION_PASSWORD_FILE, value: /run/secrets/database/migration-password }
  {{- end }}
  {{- with .Values.env }}{{ toYaml . | nindent 2 }}{{ end }}
{{- with .Values.envFrom }}
envFrom: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* List of the context and whether the pod migrates. */ -}}
{{- define "registry.volumeMounts" -}}
{{- $migrates := index . 1 -}}
{{- with index . 0 -}}
volumeMounts:
  - { name: configuration, mountPath: /etc/registry, readOnly: true }
  {{- if include "registry.databaseFiles" (list . $migrates) }}
  - { name: database, mountPath: /run/secrets/database, readOnly: true }
  {{- end }}
  {{- if .Values.secrets }}
  - { name: secrets, mountPath: /run/secrets/registry, readOnly: true }
  {{- end }}
  {{- range $position, $name := .Values.existingSecrets }}
  - { name: secret-{{ $position }}, mountPath: /run/secrets/{{ $name }}, readOnly: true }
  {{- end }}
  - { name: temporary, mountPath: /tmp }
  {{- with .Values.extraVolumeMounts }}{{ toYaml . | nindent 2 }}{{ end }}
{{- end }}
{{- end -}}

{{- /* Sources of the files in /run/secrets/database: list of the context and whether the pod migrates. */ -}}
{{- define "registry.databaseFiles" -}}
{{- $migrates := index . 1 -}}
{{- with index . 0 -}}
{{- $keys := list -}}
{{- with include "registry.passwordKey" . }}{{ $keys = append $keys (dict "key" . "path" "password") }}{{ end -}}
{{- with include "registry.caKey" . }}{{ $keys = append $keys (dict "key" . "path" "ca.crt") }}{{ end -}}
{{- if and $migrates .Values.database.external.migrationUser -}}
{{- $keys = append $keys (dict "key" .Values.database.external.migrationPasswordKey "path" "migration-password") -}}
{{- end -}}
{{- if $keys -}}
- secret: { name: {{ include "registry.passwordSecret" . }}, items: {{ toJson $keys }} }
{{- end }}
{{- if eq .Values.database.kind "cloudnativepg" }}
- secret: { name: {{ include "registry.cluster" . }}-ca, items: [{ key: ca.crt, path: ca.crt }] }
{{- end }}
{{- end }}
{{- end -}}

{{- /* List of the context and whether the pod migrates. */ -}}
{{- define "registry.volumes" -}}
{{- $migrates := index . 1 -}}
{{- with index . 0 -}}
volumes:
  - { name: configuration, configMap: { name: {{ include "registry.fullname" . }} } }
  {{- with include "registry.databaseFiles" (list . $migrates) }}
  - name: database
    projected:
      defaultMode: 0440
      sources: {{- . | nindent 8 }}
  {{- end }}
  {{- if .Values.secrets }}
  - { name: secrets, secret: { secretName: {{ include "registry.fullname" . }}, defaultMode: 0440 } }
  {{- end }}
  {{- range $position, $name := .Values.existingSecrets }}
  - { name: secret-{{ $position }}, secret: { secretName: {{ $name }}, defaultMode: 0440 } }
  {{- end }}
  - { name: temporary, emptyDir: { sizeLimit: {{ .Values.temporaryStorage }} } }
  {{- with .Values.extraVolumes }}{{ toYaml . | nindent 2 }}{{ end }}
{{- end }}
{{- end -}}

{{- /* Network policy rules for DNS and the database. */ -}}
{{- define "registry.databaseEgress" -}}
- to: {{- toYaml .Values.networkPolicy.dns | nindent 4 }}
  ports: [{ protocol: UDP, port: 53 }, { protocol: TCP, port: 53 }]
{{- if eq .Values.database.kind "cloudnativepg" }}
- to: [{ podSelector: { matchLabels: { cnpg.io/cluster: {{ include "registry.cluster" . }} } } }]
  ports: [{ protocol: TCP, port: 5432 }]
{{- else }}
- ports: [{ protocol: TCP, port: {{ .Values.database.external.port }} }]
  {{- with .Values.networkPolicy.database }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end -}}

{{- /* Whole mebibytes of a memory quantity such as 512Mi. */ -}}
{{- define "registry.mebibytes" -}}
{{- if kindIs "string" . -}}
{{- $factors := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- divf (mulf (regexFind "^[0-9.]+" . | float64) (index $factors (regexFind "[A-Za-z]*$" .) | default 1)) 1048576 | floor | int64 -}}
{{- else -}}
{{- div (int64 .) 1048576 -}}
{{- end -}}
{{- end -}}
