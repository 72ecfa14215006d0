{{/*
What can't work is refused at render, in a sentence that says what to set; all of it at once.
What values.schema.json can say is said there.
*/}}
{{- define "hookbay.checks" -}}
{{- $problems := list -}}
{{- range list "stores" "access" "metadata" "references" "workloads" "pods" "network" "telemetry" "volumes" -}}
{{- $problems = concat $problems (include (printf "hookbay.checks.%s" .) $ | fromYamlArray) -}}
{{- end -}}
{{- if $problems -}}
{{- fail (printf "\n\nThese values can't work:\n  - %s\n" (join "\n  - " $problems)) -}}
{{- end -}}
{{- end -}}

{{- define "hookbay.checks.stores" -}}
{{- range $store, $example := dict "mysql" "mysql.example.com" "redis" "redis.example.com" }}
{{- $values := get $.Values $store }}
{{- if and $values.host $values.bundled.enabled }}
- {{ printf "%s.host and %s.bundled.enabled exclude each other" $store $store | quote }}
{{- else if not (or $values.host $values.bundled.enabled (and (eq $store "redis") (or $values.cluster.nodes $values.sentinel.nodes))) }}
- {{ printf "%s.host is missing (%s), or %s.bundled.enabled=true for an evaluation" $store $example $store | quote }}
{{- end }}
{{- if and $values.bundled.enabled $values.tls.enabled }}
- {{ printf "%s.tls.enabled is for an external store; the bundled one speaks no TLS" $store | quote }}
{{- end }}
{{- end }}
{{- if and .Values.mysql.host (not .Values.mysql.password.value) (not .Values.mysql.password.existingSecret) }}
- mysql.password.existingSecret (or mysql.password.value) is missing
{{- end }}
{{- if and .Values.migrations.enabled .Values.mysql.bundled.enabled (eq .Values.migrations.mode "hook") }}
- migrations.mode=hook can't work with mysql.bundled.enabled, as hooks run before the database is there; use job or auto
{{- end }}
{{- if and .Values.mysql.bundled.enabled (eq .Values.mysql.username.value "root") }}
- mysql.username.value must not be root with the bundled MySQL, whose image refuses it
{{- end }}
{{- range $name, $credential := dict "mysql.password" .Values.mysql.password "mysql.bundled.rootPassword" .Values.mysql.bundled.rootPassword }}
{{- if and $.Values.mysql.bundled.enabled (regexMatch "['\"\\\\]" $credential.value) }}
- {{ printf "%s.value must not have quotes or backslashes with the bundled MySQL, whose image writes it into SQL as it is" $name | quote }}
{{- end }}
{{- end }}
{{- with .Values.redis }}
{{- $lists := compact (list (empty .cluster.nodes | ternary "" "redis.cluster.nodes") (empty .sentinel.nodes | ternary "" "redis.sentinel.nodes")) }}
{{- $ways := concat $lists (compact (list (empty .host | ternary "" "redis.host") (ternary "redis.bundled.enabled" "" .bundled.enabled))) }}
{{- if and $lists (gt (len $ways) 1) }}
- {{ printf "%s exclude each other" (join " and " $ways) | quote }}
{{- end }}
{{- if and .cluster.nodes (int64 .db) }}
- redis.db must be 0 with redis.cluster.nodes
{{- end }}
{{- if and $.Values.worker.keda.enabled (or $lists (gt (int64 .shards) 1)) }}
- worker.keda.enabled looks at one queue of one Redis; with redis.cluster.nodes, redis.sentinel.nodes or redis.shards use worker.autoscaling, or a ScaledObject of your own on hookbay_queue_jobs in extraObjects
{{- end }}
{{- if and .bundled.enabled .waitReplicas }}
- redis.waitReplicas is for an external Redis; the bundled one has no replica
{{- end }}
{{- if and .bundled.enabled (or .username.value .username.existingSecret) }}
- redis.username is for an external Redis; the bundled one has the default user alone
{{- end }}
{{- if and .bundled.enabled (not (include "hookbay.memoryLimit" .bundled)) }}
- redis.bundled.resources.limits.memory is missing; maxmemory is a share of it
{{- end }}
{{- end }}
{{- end -}}

{{- define "hookbay.checks.access" -}}
{{- $jwt := .Values.auth.jwt }}
{{- $credentials := dict "auth.jwt.secret" $jwt.secret "auth.jwt.publicKey" $jwt.publicKey "mysql.username" .Values.mysql.username "mysql.password" .Values.mysql.password "mysql.bundled.rootPassword" .Values.mysql.bundled.rootPassword "redis.username" .Values.redis.username "redis.password" .Values.redis.password "redis.sentinel.password" .Values.redis.sentinel.password "tests.token" .Values.tests.token }}
{{- range $name, $credential := $credentials }}
{{- if and $credential.value $credential.existingSecret }}
- {{ printf "%s.value and %s.existingSecret exclude each other" $name $name | quote }}
{{- end }}
{{- end }}
{{- $keys := list }}
{{- range $name, $set := dict "auth.jwt.secret" (or $jwt.secret.value $jwt.secret.existingSecret) "auth.jwt.publicKey" (or $jwt.publicKey.value $jwt.publicKey.existingSecret) "auth.jwt.jwksUrl" $jwt.jwksUrl }}
{{- if $set }}{{ $keys = append $keys $name }}{{ end }}
{{- end }}
{{- if gt (len $keys) 1 }}
- {{ printf "%s exclude each other: exactly one key decides" (join " and " $keys) | quote }}
{{- end }}
{{- if and $jwt.secret.value (lt (len $jwt.secret.value) 32) }}
- auth.jwt.secret.value must have at least 32 bytes
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) }}
- ingress.hosts is missing
{{- end }}
{{- $address := include "hookbay.baseUrl" . }}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.hostnames) (not .Values.baseUrl) (not .Values.ingress.enabled) }}
- "baseUrl is missing: httpRoute has no hostnames to make it of"
{{- end }}
{{- if contains "*" $address }}
- {{ printf "baseUrl is missing: nobody can call %s" (regexReplaceAll "^https?://" $address "") | quote }}
{{- end }}
{{- if and .Values.captureBaseUrl (eq (urlParse .Values.captureBaseUrl).hostname (urlParse $address).hostname) }}
- captureBaseUrl must have another host name than baseUrl
{{- end }}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) }}
- httpRoute.parentRefs is missing
{{- end }}
{{- range $name, $value := .Values.httpRoute.timeouts }}
{{- $ms := include "hookbay.milliseconds" $value | int64 }}
{{- if and (gt $ms 0) (le $ms 45000) }}
- {{ printf "httpRoute.timeouts.%s must be 0s or more than 45s: sockets may be silent that long" $name | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "hookbay.checks.workloads" -}}
{{- range $role, $needed := dict "api" (add 10 (int64 .Values.api.drainDelaySeconds)) "worker" 10 }}
{{- $values := get $.Values $role }}
{{- if lt (include "hookbay.shutdownSeconds" $values | int64) (int64 $needed) }}
- {{ printf "%s.terminationGracePeriodSeconds must be at least %d: preStop, drain, 10 s for work in hand and 5 s to spare" $role (add (int64 $values.preStopSleepSeconds) (int64 $needed) 5) | quote }}
{{- end }}
{{- end }}
{{- with include "hookbay.memoryLimit" .Values.api }}
{{- if gt (mul 2 (add (int64 $.Values.api.intakeMaxBytes) (int64 $.Values.api.answerMaxBytes))) (int64 .) }}
- api.intakeMaxBytes and api.answerMaxBytes together must be at most half of api.resources.limits.memory
{{- end }}
{{- end }}
{{- range $name := list "INTERNAL_PORT" "PORT" }}
{{- if hasKey $.Values.config $name }}
- {{ printf "config must not set %s: probes, Services and monitors go by it (service.port is the Service's)" $name | quote }}
{{- end }}
{{- end }}
{{- if and .Values.worker.autoscaling.enabled .Values.worker.keda.enabled }}
- worker.autoscaling.enabled and worker.keda.enabled exclude each other, since two autoscalers would fight
{{- end }}
{{- range $owner, $labels := dict "podLabels" .Values.podLabels "api.podLabels" .Values.api.podLabels "worker.podLabels" .Values.worker.podLabels "migrations.podLabels" .Values.migrations.podLabels }}
{{- range $label := list "name" "instance" "component" }}
{{- if hasKey $labels (printf "app.kubernetes.io/%s" $label) }}
- {{ printf "%s must not set app.kubernetes.io/%s: selectors are made of it" $owner $label | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "hookbay.checks.telemetry" -}}
{{- with .Values.metrics }}
{{- if and .serviceMonitor.enabled .podMonitor.enabled }}
- metrics.serviceMonitor.enabled and metrics.podMonitor.enabled exclude each other, since every sample would count twice
{{- end }}
{{- if ge (int64 .prometheusRule.thresholds.redisMemoryPercent) (int64 $.Values.redis.memoryRefusePercent) }}
- metrics.prometheusRule.thresholds.redisMemoryPercent must be below redis.memoryRefusePercent, to warn before captures are refused
{{- end }}
{{- range $kind := list "serviceMonitor" "podMonitor" }}
{{- $monitor := get $.Values.metrics $kind }}
{{- range $name := list "interval" "scrapeTimeout" }}
{{- if and $monitor.enabled (not (regexMatch "^([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$" (get $monitor $name))) }}
- {{ printf "metrics.%s.%s must be a duration as Prometheus writes it, like 1m30s: the larger unit first" $kind $name | quote }}
{{- end }}
{{- end }}
{{- if and $monitor.enabled (gt (include "hookbay.milliseconds" $monitor.scrapeTimeout | int64) (include "hookbay.milliseconds" $monitor.interval | int64)) }}
- {{ printf "metrics.%s.scrapeTimeout must not be longer than its interval" $kind | quote }}
{{- end }}
{{- end }}
{{- range $name, $value := .prometheusRule.alertLabels }}
{{- if not (regexMatch "^[a-zA-Z_][a-zA-Z0-9_]*$" $name) }}
- {{ printf "metrics.prometheusRule.alertLabels has %q, which is no name of a label of Prometheus" $name | quote }}
{{- end }}
{{- end }}
{{- $alerts := list }}
{{- range include "hookbay.alerts" $ | fromYamlArray }}{{ $alerts = append $alerts .name }}{{ end }}
{{- range .prometheusRule.disabled }}
{{- if not (has . $alerts) }}
- {{ printf "metrics.prometheusRule.disabled names %q, and there is no such alert" . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Milliseconds of a Gateway API duration like 1h30m, 60s or 500ms. */}}
{{- define "hookbay.milliseconds" -}}
{{- $sum := 0 -}}
{{- $factors := dict "h" 3600000 "m" 60000 "s" 1000 "ms" 1 -}}
{{- range regexFindAll "[0-9]+(h|ms|m|s)" . -1 -}}
{{- $number := regexFind "^[0-9]+" . -}}
{{- $sum = add $sum (mul (int64 $number) (get $factors (trimPrefix $number .) | int64)) -}}
{{- end -}}
{{- $sum -}}
{{- end -}}
