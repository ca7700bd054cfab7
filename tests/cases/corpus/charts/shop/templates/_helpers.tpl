{{- define "shop.labels" -}}
app: {{ .Chart.Name }}
release: {{ .Release.Name | quote }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}
