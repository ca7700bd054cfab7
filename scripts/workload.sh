# The releases that scripts/measure-plan and scripts/measure-apply work on, and how a command is watched. Sourced, with
# $work (a folder) and $audit (the API server's audit log) set before anything is called.
# shellcheck shell=bash

NAMESPACES=10
RELEASES_PER_CHART=5

# chart FOLDER NAME
chart() {
    mkdir -p "$1/templates"
    printf 'apiVersion: v2\nname: %s\nversion: 1.0.0\nappVersion: "1.0"\n' "$2" >"$1/Chart.yaml"
    cat >"$1/values.yaml" <<'YAML'
image: {repository: registry.example.com/app, tag: "1.0"}
replicas: 1
greeting: hello
resources: {limits: {cpu: 200m, memory: 256Mi}, requests: {cpu: 100m, memory: 128Mi}}
env: {LOG_LEVEL: info, REGION: eu-central-1, FEATURES: "a,b,c"}
YAML
    cat >"$1/templates/_helpers.tpl" <<'YAML'
{{- define "app.name" -}}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{- end }}
{{- define "app.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "app.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{ include "app.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "app.meta" -}}
metadata:
  name: {{ include "app.name" . }}
  labels: {{- include "app.labels" . | nindent 4 }}
{{- end }}
YAML
    cat >"$1/templates/access.yaml" <<'YAML'
apiVersion: v1
kind: ServiceAccount
{{ include "app.meta" . }}
automountServiceAccountToken: false
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
{{ include "app.meta" . }}
rules:
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
{{ include "app.meta" . }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ include "app.name" . }}}
subjects:
- {kind: ServiceAccount, name: {{ include "app.name" . }}, namespace: {{ .Release.Namespace }}}
YAML
    cat >"$1/templates/config.yaml" <<'YAML'
apiVersion: v1
kind: ConfigMap
{{ include "app.meta" . }}
data:
  greeting: {{ .Values.greeting | quote }}
  app.conf: |
    {{- range $key, $value := .Values.env }}
    {{ $key | lower }} = {{ $value | quote }}
    {{- end }}
---
apiVersion: v1
kind: Secret
{{ include "app.meta" . }}
type: Opaque
data:
  token: {{ printf "%s-%s" .Release.Name .Values.greeting | b64enc }}
YAML
    cat >"$1/templates/app.yaml" <<'YAML'
apiVersion: v1
kind: Service
{{ include "app.meta" . }}
spec:
  selector: {{- include "app.selector" . | nindent 4 }}
  ports:
  - {name: http, port: 80, targetPort: http}
---
apiVersion: apps/v1
kind: Deployment
{{ include "app.meta" . }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels: {{- include "app.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "app.selector" . | nindent 8 }}
      annotations:
        checksum/config: {{ .Values.greeting | sha256sum }}
    spec:
      serviceAccountName: {{ include "app.name" . }}
      containers:
      - name: app
        image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
        ports:
        - {name: http, containerPort: 8080}
        env:
        {{- range $key, $value := .Values.env }}
        - {name: {{ $key }}, value: {{ $value | quote }}}
        {{- end }}
        livenessProbe:
          httpGet: {path: /healthz, port: http}
        readinessProbe:
          httpGet: {path: /ready, port: http}
        resources: {{- toYaml .Values.resources | nindent 10 }}
        volumeMounts:
        - {name: config, mountPath: /etc/app}
      volumes:
      - name: config
        configMap: {name: {{ include "app.name" . }}}
---
apiVersion: batch/v1
kind: CronJob
{{ include "app.meta" . }}
spec:
  schedule: "0 3 * * *"
  suspend: true
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: job
            image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
            args: [clean-up, --older-than, 7d]
YAML
}

# make N: the charts and the desired-state file in $work/N, and `releases` with namespace, name, chart, greeting.
make() {
    local count=$1 dir=$work/$1 number namespace chart
    mkdir -p "$dir/charts"
    for ((number = 0; number < count / RELEASES_PER_CHART; number++)); do
        chart "$dir/charts/app-$number" "app-$number"
    done
    {
        printf 'context = "measure-%s"\n' "$count"
        for ((number = 0; number < NAMESPACES; number++)); do printf '[namespaces.m%s-%s]\n' "$count" "$number"; done
    } >"$dir/state.toml"
    for ((number = 0; number < count; number++)); do
        namespace=m$count-$((number % NAMESPACES)) chart=app-$((number / RELEASES_PER_CHART))
        printf '%s r-%s %s hello-%s\n' "$namespace" "$number" "$dir/charts/$chart" "$number"
    done >"$dir/releases"
    while read -r namespace name chart greeting; do
        printf '[apps.%s]\nenabled = true\nnamespace = "%s"\nchart = "%s"\nset = { greeting = "%s" }\n' \
            "$name" "$namespace" "$chart" "$greeting"
    done <"$dir/releases" >>"$dir/state.toml"
}

# watched COMMAND…: runs it, and prints wall seconds, CPU seconds and the largest anonymous memory in kB.
exec {nap}<> <(:)
watched() {
    local pid start end line key value largest=0 ticks=0 fields
    start=${EPOCHREALTIME/./}
    "$@" >"$work/out" 2>&1 &
    pid=$!
    while read -r line 2>/dev/null <"/proc/$pid/stat" && [[ ${line##*) } != Z* ]]; do
        read -ra fields <<<"${line##*) }"
        ticks=$((fields[11] + fields[12]))
        while read -r key value _; do
            if [[ $key == RssAnon: ]]; then
                ((value <= largest)) || largest=$value
                break
            fi
        done 2>/dev/null <"/proc/$pid/status" || true
        read -rt 0.004 -u "$nap" || true
    done
    end=${EPOCHREALTIME/./}
    wait "$pid" || true
    awk -v us=$((end - start)) -v ticks="$ticks" -v hz="$(getconf CLK_TCK)" -v kb="$largest" \
        'BEGIN { printf "%.3f %.2f %d\n", us / 1e6, ticks / hz, kb }'
}

# asked MARK: how many requests of statectl the audit log has since that many bytes.
asked() {
    sleep 0.5
    tail -c "+$(($1 + 1))" "$audit" | grep -c '"userAgent":"statectl/' || true
}

median() { sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }
