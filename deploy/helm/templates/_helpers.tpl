{{- define "countersign.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "countersign.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "countersign.labels" -}}
{{ include "countersign.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "countersign.check" -}}
{{- if not .Values.publicUrl }}{{ fail "publicUrl: set it to the https address under which people open the service" }}{{ end }}
{{- if not .Values.existingSecret }}{{ fail "existingSecret: name a Secret that has DATABASE_URL, AUTH_SECRET, the signing keys, and SMTP_URL or RESEND_API_KEY" }}{{ end }}
{{- range $name, $value := .Values.settings }}
{{- if or (hasSuffix "_KEY" $name) (hasSuffix "_SECRET" $name) (has $name (list "DATABASE_URL" "DATABASE_LISTEN_URL" "DATABASE_REPLICA_URL" "REDIS_URL" "SMTP_URL")) }}{{ fail (printf "settings.%s: put it into the Secret that existingSecret names, because it may hold a password or a key" $name) }}{{ end }}
{{- if has $name (list "PUBLIC_BASE_URL" "DATA_DIR" "PORT" "HOST") }}{{ fail (printf "settings.%s: leave it out, because the chart sets it" $name) }}{{ end }}
{{- end }}
{{- end }}
