{{/* The name of everything: the release, with the chart's name if it does not have it. */}}
{{- define "muster.name" -}}
{{- $name := .Release.Name -}}
{{- if not (contains .Chart.Name $name) -}}
{{- $name = printf "%s-%s" $name .Chart.Name -}}
{{- end -}}
{{- $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The name in cluster-wide objects, which two releases in two namespaces must not share. */}}
{{- define "muster.clusterName" -}}
{{- printf "%s:%s" .Release.Namespace (include "muster.name" .) -}}
{{- end -}}

{{- define "muster.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "muster.name" .) -}}
{{- end -}}

{{/* What tells the pods of this release apart from others. */}}
{{- define "muster.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "muster.labels" -}}
{{ include "muster.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}
