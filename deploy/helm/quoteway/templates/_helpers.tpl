{{- define "quoteway.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "quoteway.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: quoteway
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- /* Of what, by its component: (list "gateway" $) */ -}}
{{- define "quoteway.selector" -}}
app.kubernetes.io/name: quoteway
app.kubernetes.io/instance: {{ (index . 1).Release.Name }}
app.kubernetes.io/component: {{ index . 0 }}
{{- end }}

{{- define "quoteway.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- define "quoteway.config" -}}
{{- .Values.config | default (.Files.Get "files/quoteway.toml") }}
{{- end }}

{{- /* The annotations of a pod: it is made anew when the configuration changes. */ -}}
{{- define "quoteway.annotations" -}}
checksum/config: {{ include "quoteway.config" (index . 1) | sha256sum }}
{{- with (index . 0) }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* What the pods of gateways and index share. */ -}}
{{- define "quoteway.pod" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
# No process here talks to Kubernetes, and the token would be mounted below /run/secrets.
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
volumes:
  - name: config
    configMap: {name: {{ include "quoteway.name" . }}}
  - name: secrets
    secret:
      secretName: {{ .Values.secret.name }}
      defaultMode: 0440
      items:
        {{- range .Values.secret.keys }}
        - {key: {{ . | quote }}, path: {{ . | quote }}}
        {{- end }}
  - name: tmp
    emptyDir: {sizeLimit: 1Gi}
{{- end }}

{{- define "quoteway.container" -}}
image: {{ include "quoteway.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
# A process that is taken over can write nothing that survives it, and can gain no rights.
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: config, mountPath: /etc/quoteway, readOnly: true}
  - {name: secrets, mountPath: /run/secrets, readOnly: true}
  - {name: tmp, mountPath: /tmp}
{{- end }}
