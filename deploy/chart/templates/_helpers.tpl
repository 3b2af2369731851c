{{/* The name of all objects. Room is left for a suffix such as "-operator". */}}
{{- define "keyshelf.fullname" -}}
{{- if contains "keyshelf" .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-keyshelf" .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What selects pods: of the service, or with a suffix those of a job or test. */}}
{{- define "keyshelf.selector" -}}
app.kubernetes.io/name: keyshelf{{ .suffix }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end -}}

{{- define "keyshelf.podLabels" -}}
{{- include "keyshelf.selector" (dict "root" . "suffix" "") -}}
{{- end -}}

{{- define "keyshelf.migrateLabels" -}}
{{- include "keyshelf.selector" (dict "root" . "suffix" "-migrate") -}}
{{- end -}}

{{- define "keyshelf.testLabels" -}}
{{- include "keyshelf.selector" (dict "root" . "suffix" "-test") -}}
{{- end -}}

{{/* What each object has besides the labels of its pods. */}}
{{- define "keyshelf.labels" -}}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "keyshelf.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What is not secret. The pods and the migration have the same settings, so that a wrong one ends an upgrade before it begins. */}}
{{- define "keyshelf.settings" -}}
{{- toYaml (merge (dict "SERVICE_HOST" "0.0.0.0") .Values.settings (dict "SERVICE_LOG_FORMAT" "json")) -}}
{{- end -}}

{{/* The part of a pod that confines it. Each pod meets the "restricted" Pod Security Standard. */}}
{{- define "keyshelf.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{- define "keyshelf.container" -}}
image: {{ include "keyshelf.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: ["ALL"]
{{- end -}}

{{/* Rules for DNS and PostgreSQL. A rule without peers would allow all of them, so it is left out. */}}
{{- define "keyshelf.egress" -}}
{{- with .Values.networkPolicy.dns -}}
- to:
    {{- toYaml . | nindent 4 }}
  ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
{{ end -}}
{{- with .Values.networkPolicy.database -}}
{{- if .peers -}}
- to:
    {{- toYaml .peers | nindent 4 }}
  ports:
    - port: {{ .port }}
{{- end -}}
{{- end -}}
{{- end -}}
