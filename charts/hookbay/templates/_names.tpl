{{/* At most 40 characters: the longest suffix is that of the migration Job, "-migrate-" and ten digits of a hash. */}}
{{- define "hookbay.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What a selector may hold, and all that it holds: it can never be changed. Takes (list $ component). */}}
{{- define "hookbay.selectorLabels" -}}
app.kubernetes.io/name: {{ index . 0 | include "hookbay.name" | quote }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "hookbay.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Labels of a resource. Takes (list $ component). */}}
{{- define "hookbay.labels" -}}
{{- $root := index . 0 -}}
{{- $fixed := set (include "hookbay.selectorLabels" . | fromYaml) "app.kubernetes.io/managed-by" $root.Release.Service -}}
{{- $version := $root.Values.image.tag | default $root.Chart.AppVersion | replace "+" "_" | trunc 63 | trimAll "-_." -}}
{{- $chart := printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimAll "-_." -}}
{{- merge $fixed $root.Values.commonLabels (dict "app.kubernetes.io/part-of" "hookbay" "app.kubernetes.io/version" $version "helm.sh/chart" $chart) | toYaml -}}
{{- end -}}

{{- define "hookbay.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "hookbay.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* "hook" or "job". */}}
{{- define "hookbay.migrationsMode" -}}
{{- if eq .Values.migrations.mode "auto" -}}
{{- ternary "job" "hook" .Values.mysql.bundled.enabled -}}
{{- else -}}
{{- .Values.migrations.mode -}}
{{- end -}}
{{- end -}}

{{- define "hookbay.image" -}}
{{- $image := .Values.image -}}
{{- $name := $image.repository -}}
{{- with .Values.global.imageRegistry | default $image.registry }}{{ $name = printf "%s/%s" . $name }}{{ end -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $name $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name ($image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* Image of a bundled store. Takes its `image` value. */}}
{{- define "hookbay.bundledImage" -}}
{{- if .digest }}{{ printf "%s@%s" .repository .digest }}{{ else }}{{ printf "%s:%s" .repository .tag }}{{ end -}}
{{- end -}}

{{- define "hookbay.imagePullSecrets" -}}
{{- with concat (.Values.global.imagePullSecrets | default list) .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ ternary . (get (ternary dict . (kindIs "string" .)) "name") (kindIs "string" .) }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "hookbay.mysqlHost" -}}
{{- ternary (printf "%s-mysql" (include "hookbay.fullname" .)) .Values.mysql.host .Values.mysql.bundled.enabled -}}
{{- end -}}

{{- define "hookbay.redisHost" -}}
{{- ternary (printf "%s-redis" (include "hookbay.fullname" .)) .Values.redis.host .Values.redis.bundled.enabled -}}
{{- end -}}

{{/* The prefix of BullMQ's keys, as queuePrefix() in src/queue/capture-queue.ts makes it from REDIS_PREFIX. */}}
{{- define "hookbay.queuePrefix" -}}
{{- printf "{%s}" .Values.redis.prefix -}}
{{- end -}}

{{/* Where people find the API: what endpoint URLs are built from. */}}
{{- define "hookbay.baseUrl" -}}
{{- if .Values.baseUrl -}}
{{- .Values.baseUrl -}}
{{- else if and .Values.httpRoute.enabled .Values.httpRoute.hostnames -}}
{{- printf "%s://%s" (ternary "https" "http" .Values.httpRoute.tls) (first .Values.httpRoute.hostnames) -}}
{{- else if .Values.ingress.enabled -}}
{{- printf "%s://%s" (ternary "https" "http" (not (empty .Values.ingress.tls))) (first .Values.ingress.hosts) -}}
{{- else -}}
http://localhost:8080
{{- end -}}
{{- end -}}
