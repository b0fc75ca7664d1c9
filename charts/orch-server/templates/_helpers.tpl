{{/* The name of the objects: that of the release, with the chart's in it. */}}
{{- define "orch-server.fullname" -}}
{{- $name := .Release.Name -}}
{{- if not (contains .Chart.Name $name) -}}{{- $name = printf "%s-%s" $name .Chart.Name -}}{{- end -}}
{{- .Values.fullnameOverride | default $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "orch-server.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "orch-server.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* What every object of the release has, beside its own labels. */}}
{{- define "orch-server.releaseLabels" -}}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end -}}

{{/* By which Pods are found; it never changes, because selectors are immutable. */}}
{{- define "orch-server.selectorLabels" -}}
app.kubernetes.io/name: {{ include "orch-server.fullname" . }}
{{- end -}}

{{- define "orch-server.labels" -}}
{{ include "orch-server.selectorLabels" . }}
{{ include "orch-server.releaseLabels" . }}
{{- end -}}

{{- define "orch-server.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "orch-server.port" -}}
{{- $port := 6443 -}}
{{- if hasKey .Values.config "securePort" -}}{{- $port = .Values.config.securePort -}}{{- end -}}
{{- if eq (int $port) 0 -}}
{{- fail "config.securePort: 0 is any free port, which no Service finds; write a port such as 6443" -}}
{{- end -}}
{{- int $port -}}
{{- end -}}

{{/* The configuration with the names of the Service, unless the certificate is given. */}}
{{- define "orch-server.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- $tls := $config.tls | default dict -}}
{{- if not (get $tls "certFile") -}}
{{- $name := include "orch-server.fullname" . -}}
{{- $domain := printf "%s.%s.svc" $name .Release.Namespace -}}
{{- $names := list $name (printf "%s.%s" $name .Release.Namespace) $domain (printf "%s.%s" $domain .Values.clusterDomain) -}}
{{- $_ := set $tls "extraNames" (concat $names (get $tls "extraNames" | default list)) -}}
{{- $_ := set $config "tls" $tls -}}
{{- end -}}
apiVersion: server.config.orch.io/v1alpha1
kind: OrchServerConfiguration
{{ toYaml $config }}
{{- end -}}

{{/* Servers of one etcd that do not share these files refuse each other's tokens, Secrets and clients. */}}
{{- define "orch-server.checkReplicas" -}}
{{- if gt (int .Values.replicas) 1 -}}
{{- range $path := list "etcd.servers" "encryption.keyFile" "serviceAccounts.signingKeyFile" "tls.certFile" -}}
{{- $node := $.Values.config -}}
{{- range $name := splitList "." $path -}}
{{- $node = get ($node | default dict) $name -}}
{{- end -}}
{{- if not $node -}}
{{- fail (printf "replicas: several servers need config.%s, which is the same for all of them; set it, or replicas to 1 (docs/operate/orch-server.md#on-etcd)" $path) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
