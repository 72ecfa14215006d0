{{/* Environment of api and worker, by role. Takes (list $ role). */}}
{{- define "hookbay.env" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $values := $root.Values -}}
- name: HOST
  value: {{ $values.listenAddress | quote }}
- name: INTERNAL_PORT
  value: "9090"
{{ include "hookbay.env.mysql" (dict "root" $root) }}
{{ include "hookbay.env.redis" $root }}
{{ include "hookbay.env.plans" $root }}
- name: DEFAULT_PLAN
  value: {{ $values.defaultPlan | quote }}
- name: EXPIRED_GRACE_HOURS
  value: {{ $values.expiredGraceHours | int64 | quote }}
- name: DURABILITY
  value: {{ $values.durability | quote }}
- name: LIVE_EVENTS
  value: {{ $values.live.enabled | quote }}
{{- if eq $role "api" }}
- name: PORT
  value: "8080"
- name: BASE_URL
  value: {{ include "hookbay.baseUrl" $root | quote }}
{{- with $values.captureBaseUrl }}
- name: CAPTURE_BASE_URL
  value: {{ . | quote }}
{{- end }}
- name: CUSTOM_RESPONSES
  value: {{ $values.customResponses | quote }}
- name: PAGE
  value: {{ $values.page.enabled | quote }}
{{ include "hookbay.env.jwt" $root }}
- name: TRUST_PROXY_HOPS
  value: {{ $values.trustProxyHops | int64 | quote }}
- name: API_RATE_LIMIT_PER_MINUTE
  value: {{ $values.rateLimits.apiPerMinute | int64 | quote }}
- name: VERIFY_RATE_LIMIT_PER_MINUTE
  value: {{ $values.rateLimits.verifyPerMinute | int64 | quote }}
- name: INTAKE_MAX_BYTES
  value: {{ $values.api.intakeMaxBytes | int64 | quote }}
- name: ANSWER_MAX_BYTES
  value: {{ $values.api.answerMaxBytes | int64 | quote }}
- name: REDIS_MEMORY_REFUSE_PERCENT
  value: {{ $values.redis.memoryRefusePercent | int64 | quote }}
- name: LIVE_MAX_SOCKETS_PER_USER
  value: {{ $values.live.maxSocketsPerUser | int64 | quote }}
- name: LIVE_MAX_BUFFERED_BYTES
  value: {{ $values.live.maxBufferedBytes | int64 | quote }}
- name: DRAIN_DELAY_MS
  value: {{ mul 1000 (int64 $values.api.drainDelaySeconds) | quote }}
{{- else }}
- name: WORKER_CONCURRENCY
  value: {{ $values.worker.concurrency | int64 | quote }}
- name: JOB_LOCK_MS
  value: {{ $values.worker.jobLockMs | int64 | quote }}
{{- end }}
- name: SHUTDOWN_TIMEOUT_MS
  value: {{ mul 1000 (include "hookbay.shutdownSeconds" (get $values $role) | int64) | quote }}
{{- include "hookbay.env.extra" (list $root (get $values $role)) }}
{{- end -}}

{{/*
The list with each name once, the last entry of a name standing: what the user adds replaces what the chart
says. Server-side apply refuses a list that has a name twice. Takes the list as text.
*/}}
{{- define "hookbay.env.unique" -}}
{{- $byName := dict -}}
{{- $names := list -}}
{{- range fromYamlArray . -}}
{{- $name := toString .name -}}
{{- if not (hasKey $byName $name) }}{{ $names = append $names $name }}{{ end -}}
{{- $_ := set $byName $name . -}}
{{- end -}}
{{- $list := list -}}
{{- range $names }}{{ $list = append $list (get $byName .) }}{{ end -}}
{{- toYaml $list -}}
{{- end -}}

{{/*
What the grace period leaves the process for its own orderly end: without preStop, and with five seconds
to spare, so that it ends by itself and says so rather than by SIGKILL. Takes the component's values.
*/}}
{{- define "hookbay.shutdownSeconds" -}}
{{- sub (int64 .terminationGracePeriodSeconds) (add 5 (int64 .preStopSleepSeconds)) -}}
{{- end -}}

{{/* Discrete variables, never a URL: a password may be anything. Takes (dict "root" $ "ownSecret" optional). */}}
{{- define "hookbay.env.mysql" -}}
{{- $mysql := .root.Values.mysql -}}
- name: MYSQL_HOST
  value: {{ include "hookbay.mysqlHost" .root | quote }}
- name: MYSQL_PORT
  value: {{ ternary 3306 (int64 $mysql.port) $mysql.bundled.enabled | quote }}
- name: MYSQL_DATABASE
  value: {{ $mysql.database | quote }}
{{ include "hookbay.env.username" (dict "root" .root "env" "MYSQL_USER" "credential" $mysql.username "fallback" "hookbay") }}
{{ include "hookbay.env.credential" (dict "root" .root "env" "MYSQL_PASSWORD" "credential" $mysql.password "ownKey" (include "hookbay.passwordKey" (list .root "mysql")) "ownSecret" .ownSecret) }}
- name: MYSQL_TLS
  value: {{ $mysql.tls.enabled | quote }}
- name: MYSQL_POOL_SIZE
  value: {{ $mysql.poolSize | int64 | quote }}
{{- if .root.Values.extraCa.existingSecret }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/hookbay/ca/ca.crt
{{- end }}
{{- end -}}

{{- define "hookbay.env.redis" -}}
{{- $redis := .Values.redis -}}
{{ include "hookbay.env.redisServers" . }}
- name: REDIS_DB
  value: {{ $redis.db | int64 | quote }}
- name: REDIS_TLS
  value: {{ $redis.tls.enabled | quote }}
- name: REDIS_PREFIX
  value: {{ $redis.prefix | quote }}
{{- if include "hookbay.hasRedisUsername" . }}
{{ include "hookbay.env.username" (dict "root" . "env" "REDIS_USERNAME" "credential" $redis.username) }}
{{- end }}
{{- if include "hookbay.hasRedisPassword" . }}
{{ include "hookbay.env.credential" (dict "root" . "env" "REDIS_PASSWORD" "credential" $redis.password "ownKey" (include "hookbay.passwordKey" (list . "redis"))) }}
{{- end }}
{{- end -}}

{{- define "hookbay.env.redisServers" -}}
{{- $redis := .Values.redis -}}
{{- if $redis.cluster.nodes -}}
- name: REDIS_CLUSTER_NODES
  value: {{ join "," $redis.cluster.nodes | quote }}
{{- else if $redis.sentinel.nodes -}}
- name: REDIS_SENTINELS
  value: {{ join "," $redis.sentinel.nodes | quote }}
- name: REDIS_SENTINEL_NAME
  value: {{ $redis.sentinel.name | quote }}
- name: REDIS_SENTINEL_TLS
  value: {{ $redis.sentinel.tls | quote }}
{{- with $redis.sentinel.username }}
- name: REDIS_SENTINEL_USERNAME
  value: {{ . | quote }}
{{- end }}
{{- with $redis.sentinel.password }}
{{- if or .value .existingSecret }}
{{ include "hookbay.env.credential" (dict "root" $ "env" "REDIS_SENTINEL_PASSWORD" "credential" . "ownKey" "redis-sentinel-password") }}
{{- end }}
{{- end }}
{{- else -}}
- name: REDIS_HOST
  value: {{ include "hookbay.redisHost" . | quote }}
- name: REDIS_PORT
  value: {{ ternary 6379 (int64 $redis.port) $redis.bundled.enabled | quote }}
{{- end }}
- name: CAPTURE_QUEUE_SHARDS
  value: {{ $redis.shards | int64 | quote }}
- name: REDIS_WAIT_REPLICAS
  value: {{ $redis.waitReplicas | int64 | quote }}
{{- end -}}

{{- define "hookbay.hasRedisUsername" -}}
{{- if or .Values.redis.username.value .Values.redis.username.existingSecret }}true{{ end -}}
{{- end -}}

{{- define "hookbay.hasRedisPassword" -}}
{{- if or .Values.redis.bundled.enabled .Values.redis.password.value .Values.redis.password.existingSecret }}true{{ end -}}
{{- end -}}

{{- define "hookbay.env.jwt" -}}
{{- $jwt := .Values.auth.jwt -}}
{{- $kind := include "hookbay.jwtKind" . -}}
{{- if eq $kind "publicKey" -}}
{{ include "hookbay.env.credential" (dict "root" . "env" "JWT_PUBLIC_KEY" "credential" $jwt.publicKey "ownKey" "jwt-public-key") }}
{{- else if eq $kind "jwks" -}}
- name: JWKS_URL
  value: {{ $jwt.jwksUrl | quote }}
{{- else -}}
{{ include "hookbay.env.credential" (dict "root" . "env" "JWT_SECRET" "credential" $jwt.secret "ownKey" "jwt-secret") }}
{{- end }}
{{- /* An empty value would be another manifest than the one that the API server keeps. */}}
{{- range $name, $value := dict "JWT_AUDIENCE" $jwt.audience "JWT_ISSUER" $jwt.issuer }}
{{- with $value }}
- name: {{ $name }}
  value: {{ . | quote }}
{{- end }}
{{- end }}
- name: JWT_PLAN_CLAIM
  value: {{ $jwt.planClaim | quote }}
{{- end -}}

{{/* What every role needs, the migration too: it checks that the database takes the largest body of any plan. */}}
{{- define "hookbay.env.plans" -}}
- name: LOG_LEVEL
  value: {{ .Values.logLevel | quote }}
{{- with .Values.plans }}
- name: PLANS
  value: {{ toJson . | quote }}
{{- end }}
{{- end -}}

{{/* `config`, then extraEnv of all and of the component. Takes (list $ component's values). */}}
{{- define "hookbay.env.extra" -}}
{{- $root := index . 0 -}}
{{- range $name, $value := $root.Values.config }}
- name: {{ $name }}
  value: {{ ternary ($value | int64) $value (and (kindIs "float64" $value) (eq (floor $value) $value)) | toString | quote }}
{{- end }}
{{- with concat $root.Values.extraEnv (index . 1).extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}
