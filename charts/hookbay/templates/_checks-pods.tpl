{{/* Pods and what scales them, where the API server would refuse it. */}}
{{- define "hookbay.checks.pods" -}}
{{- range $path := list "api" "worker" "migrations" "tests" "mysql.bundled" "redis.bundled" }}
{{- include "hookbay.checks.resources" (list $path (include "hookbay.value" (list $ (printf "%s.resources" $path)) | fromJson)) }}
{{- end }}
{{- range $role := list "api" "worker" }}
{{- $values := get $.Values $role }}
{{- range $probe := list "startup" "liveness" }}
{{- if ne (get ($values.probes | default dict) $probe | default dict | dig "successThreshold" 1 | int64) 1 }}
- {{ printf "%s.probes.%s.successThreshold must be 1: Kubernetes takes no other there" $role $probe | quote }}
{{- end }}
{{- end }}
{{- if get ($values.probes | default dict) "readiness" | default dict | dig "terminationGracePeriodSeconds" "" }}
- {{ printf "%s.probes.readiness takes no terminationGracePeriodSeconds, as it ends nothing" $role | quote }}
{{- end }}
{{- include "hookbay.checks.strategy" (list $role $values.strategy) }}
{{- include "hookbay.checks.spread" (list $role $values.topologySpreadConstraints) }}
{{- include "hookbay.checks.tolerations" (list (printf "%s.tolerations" $role) $values.tolerations) }}
{{- include "hookbay.checks.scaling" (list $role $values) }}
{{- end }}
{{- include "hookbay.checks.tolerations" (list "tolerations" .Values.tolerations) }}
{{- range $path := list "extraEnv" "api.extraEnv" "worker.extraEnv" "migrations.extraEnv" }}
{{- include "hookbay.checks.environment" (list $path (include "hookbay.value" (list $ $path) | fromJsonArray)) }}
{{- end }}
{{- include "hookbay.checks.storage" (list . "" .Values) }}
{{- include "hookbay.checks.storage" (list . "api." .Values.api) }}
{{- include "hookbay.checks.storage" (list . "worker." .Values.worker) }}
{{- $names := list "api" "worker" "migrate" "capture" }}
{{- range $i, $container := .Values.extraInitContainers }}
{{- $name := toString $container.name }}
{{- if or (not $container.name) (not $container.image) (has $name $names) }}
- {{ printf "extraInitContainers[%d] must have an image, and a name of its own (taken are %s)" $i (join ", " $names) | quote }}
{{- end }}
{{- $names = append $names $name }}
{{- end }}
{{- end -}}

{{/* Takes (list component's path resources). */}}
{{- define "hookbay.checks.resources" -}}
{{- $path := index . 0 }}
{{- $resources := index . 1 }}
{{- range $section := list "requests" "limits" }}
{{- range $name, $amount := get $resources $section | default dict }}
{{- if not (or (contains "/" $name) (regexMatch "^(cpu|memory|ephemeral-storage|hugepages-.+)$" $name)) }}
- {{ printf "%s.resources.%s has %q, which is no resource like cpu, memory or ephemeral-storage" $path $section $name | quote }}
{{- end }}
{{- if not (include "hookbay.quantity" $amount) }}
- {{ printf "%s.resources.%s.%s must be a quantity like 250m, 512Mi or 1.5Gi (it is %q)" $path $section $name (toString $amount) | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- $limits := $resources.limits | default dict }}
{{- range $name, $amount := $resources.requests | default dict }}
{{- $limit := get $limits $name | include "hookbay.quantity" }}
{{- if and $limit (gt (include "hookbay.quantity" $amount | default "0" | float64) (float64 $limit)) }}
- {{ printf "%s.resources.requests.%s must be at most the limit (it is %v of %v)" $path $name $amount (get $limits $name) | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Takes (list role strategy). */}}
{{- define "hookbay.checks.strategy" -}}
{{- $role := index . 0 }}
{{- $strategy := index . 1 | default dict }}
{{- $rolling := $strategy.rollingUpdate | default dict }}
{{- if not (has $strategy.type (list "RollingUpdate" "Recreate")) }}
- {{ printf "%s.strategy.type must be RollingUpdate or Recreate" $role | quote }}
{{- end }}
{{- $none := true }}
{{- range $name := list "maxSurge" "maxUnavailable" }}
{{- $value := get $rolling $name | default 0 | toString }}
{{- if not (regexMatch "^([0-9]+|[0-9]{1,2}%|100%)$" $value) }}
- {{ printf "%s.strategy.rollingUpdate.%s must be a number or a share like 25%% (it is %q)" $role $name $value | quote }}
{{- end }}
{{- if or (not (has $value (list "0" "0%"))) (not (hasKey $rolling $name)) }}{{ $none = false }}{{ end }}
{{- end }}
{{- if and $none (eq $strategy.type "RollingUpdate") }}
- {{ printf "%s.strategy.rollingUpdate: maxSurge and maxUnavailable must not both be 0, as no pod could be replaced" $role | quote }}
{{- end }}
{{- end -}}

{{/* Takes (list role constraints). */}}
{{- define "hookbay.checks.spread" -}}
{{- $role := index . 0 }}
{{- $seen := list }}
{{- range $i, $constraint := index . 1 }}
{{- $path := printf "%s.topologySpreadConstraints[%d]" $role $i }}
{{- if or (not $constraint.topologyKey) (lt (int64 $constraint.maxSkew) 1) (not (has $constraint.whenUnsatisfiable (list "DoNotSchedule" "ScheduleAnyway"))) }}
- {{ printf "%s must have a topologyKey, a maxSkew of 1 or more, and whenUnsatisfiable DoNotSchedule or ScheduleAnyway" $path | quote }}
{{- end }}
{{- if and $constraint.minDomains (ne $constraint.whenUnsatisfiable "DoNotSchedule") }}
- {{ printf "%s.minDomains is for whenUnsatisfiable DoNotSchedule" $path | quote }}
{{- end }}
{{- $pair := printf "%v %v" $constraint.topologyKey $constraint.whenUnsatisfiable }}
{{- if has $pair $seen }}
- {{ printf "%s is there twice: %s" $path $pair | quote }}
{{- end }}
{{- $seen = append $seen $pair }}
{{- end }}
{{- end -}}

{{/* Takes (list path tolerations). */}}
{{- define "hookbay.checks.tolerations" -}}
{{- $path := index . 0 }}
{{- range $i, $toleration := index . 1 }}
{{- $operator := $toleration.operator | default "Equal" }}
{{- if or (not (has $operator (list "Equal" "Exists"))) (and (eq $operator "Exists") $toleration.value) (and (eq $operator "Equal") (not $toleration.key)) }}
- {{ printf "%s[%d] must have a key and a value, or operator Exists and no value" $path $i | quote }}
{{- end }}
{{- if not (has ($toleration.effect | default "") (list "" "NoSchedule" "PreferNoSchedule" "NoExecute")) }}
- {{ printf "%s[%d].effect must be NoSchedule, PreferNoSchedule or NoExecute" $path $i | quote }}
{{- end }}
{{- if and (hasKey $toleration "tolerationSeconds") (ne ($toleration.effect | default "") "NoExecute") }}
- {{ printf "%s[%d].tolerationSeconds is for effect NoExecute" $path $i | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Takes (list role values). */}}
{{- define "hookbay.checks.scaling" -}}
{{- $role := index . 0 }}
{{- $values := index . 1 }}
{{- with $values.autoscaling }}
{{- if .enabled }}
{{- if gt (int64 .minReplicas) (int64 .maxReplicas) }}
- {{ printf "%s.autoscaling.minReplicas must be at most maxReplicas" $role | quote }}
{{- end }}
{{- if not (or .targetCPUUtilizationPercentage .targetMemoryUtilizationPercentage .metrics) }}
- {{ printf "%s.autoscaling needs a target or one of metrics: Kubernetes would scale by 80%% of CPU" $role | quote }}
{{- end }}
{{- range $name, $target := dict "cpu" .targetCPUUtilizationPercentage "memory" .targetMemoryUtilizationPercentage }}
{{- $resources := $values.resources | default dict }}
{{- if and $target (not (dig "requests" $name "" $resources)) (not (dig "limits" $name "" $resources)) }}
- {{ printf "%s.resources.requests.%s is missing: %s.autoscaling goes by a share of it" $role $name $role | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- with $values.keda }}
{{- if and .enabled (gt (int64 .minReplicaCount) (int64 .maxReplicaCount)) }}
- {{ printf "%s.keda.minReplicaCount must be at most maxReplicaCount" $role | quote }}
{{- end }}
{{- end }}
{{- end -}}
