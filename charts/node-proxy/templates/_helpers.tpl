{{/* The name of the objects: that of the release, with the chart's in it. */}}
{{- define "node-proxy.fullname" -}}
{{- $name := .Release.Name -}}
{{- if not (contains .Chart.Name $name) -}}{{- $name = printf "%s-%s" $name .Chart.Name -}}{{- end -}}
{{- .Values.fullnameOverride | default $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "node-proxy.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "node-proxy.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* What every object of the release has, beside its own labels. */}}
{{- define "node-proxy.releaseLabels" -}}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end -}}

{{/* By which Pods are found; it never changes, because selectors are immutable. */}}
{{- define "node-proxy.selectorLabels" -}}
app.kubernetes.io/name: {{ include "node-proxy.fullname" . }}
{{- end -}}

{{- define "node-proxy.labels" -}}
{{ include "node-proxy.selectorLabels" . }}
{{ include "node-proxy.releaseLabels" . }}
{{- end -}}

{{/* Whether node-proxy may read what it needs to enforce NetworkPolicies; empty if not. */}}
{{- define "node-proxy.enforcesPolicies" -}}
{{- $enforce := (.Values.config.networkPolicy | default dict).enforce | toString -}}
{{- if or .Values.networkPolicy.enabled (eq $enforce "true") }}true{{ end -}}
{{- end -}}

{{/* Whether node-proxy may write the Leases by which nodes announce addresses; empty if not. */}}
{{- define "node-proxy.announces" -}}
{{- $layer2 := (.Values.config.announcement | default dict).layer2 | toString -}}
{{- if or .Values.announcement.enabled (eq $layer2 "true") }}true{{ end -}}
{{- end -}}

{{- define "node-proxy.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The port of an address of the configuration; `default` is that of an address without one. */}}
{{- define "node-proxy.portOf" -}}
{{- if regexMatch "^([0-9.]+|\\[.*\\]):[0-9]+$" .address -}}
{{- regexFind "[0-9]+$" .address -}}
{{- else -}}
{{- .default -}}
{{- end -}}
{{- end -}}

{{- define "node-proxy.healthzAddress" -}}
{{- if hasKey .Values.config "healthzBindAddress" -}}
{{- .Values.config.healthzBindAddress -}}
{{- else if contains ":" (.Values.config.bindAddress | default "") -}}
[::]:10256
{{- else -}}
0.0.0.0:10256
{{- end -}}
{{- end -}}

{{/* Where the kubelet finds /livez and /readyz. */}}
{{- define "node-proxy.probeTarget" -}}
{{- $address := include "node-proxy.healthzAddress" . -}}
{{- $host := $address | trimPrefix "[" | regexFind "^([0-9.]+|[0-9A-Fa-f:.]+)" -}}
{{- if hasPrefix "[" $address -}}{{- $host = regexReplaceAll "^\\[(.*)\\].*$" $address "${1}" -}}{{- end -}}
host: {{ if eq $host "0.0.0.0" }}127.0.0.1{{ else if eq $host "::" }}"::1"{{ else }}{{ $host | quote }}{{ end }}
port: {{ include "node-proxy.portOf" (dict "address" $address "default" "10256") }}
{{- end -}}

{{- define "node-proxy.metricsAddress" -}}
{{- $address := .Values.config.metricsBindAddress | default "" -}}
{{- if regexMatch "^$|^127\\.|^\\[?::1(\\]|$)" $address -}}
{{- fail (printf "podMonitor.enabled: node-proxy serves its metrics at %q, where Prometheus does not reach them; set config.metricsBindAddress to an address of the node, such as 0.0.0.0:10249" ($address | default "127.0.0.1:10249")) -}}
{{- end -}}
{{- $address -}}
{{- end -}}

{{/*
The settings of the configuration that a running daemon does not take over, as text: with them in an annotation of the
Pods, a change of one of them replaces the Pods, and a change of any other does not.
*/}}
{{- define "node-proxy.restartSettings" -}}
{{- $config := .Values.config -}}
{{- range $path := .Files.Lines "files/restart-settings.txt" -}}
{{- $node := $config -}}
{{- $known := ne $path "" -}}
{{- range $name := splitList "." $path -}}
{{- if and $known (kindIs "map" $node) (hasKey $node $name) -}}
{{- $node = get $node $name -}}
{{- else -}}
{{- $known = false -}}
{{- end -}}
{{- end -}}
{{- if $known }}{{ $path }}: {{ toJson $node }}
{{ end -}}
{{- end -}}
{{- end -}}
