{{/* Names, labels and annotations that the API server would refuse. */}}
{{- define "hookbay.checks.metadata" -}}
{{- $fullname := include "hookbay.fullname" . }}
{{- if or (not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $fullname)) (has $fullname (list "true" "false" "null" "yes" "no" "on" "off" "y" "n")) }}
- {{ printf "fullnameOverride is needed: the release's name makes resources %s-…, and a Service's name begins with a letter and has no dots" $fullname | quote }}
{{- end }}
{{- range $path := list "commonLabels" "podLabels" "api.podLabels" "worker.podLabels" "migrations.podLabels" "nodeSelector" "api.nodeSelector" "worker.nodeSelector" "metrics.serviceMonitor.labels" "metrics.podMonitor.labels" "metrics.prometheusRule.labels" "metrics.dashboard.labels" }}
{{- range $key, $value := include "hookbay.value" (list $ $path) | fromJson }}
{{- if not (include "hookbay.isQualifiedName" $key) }}
- {{ printf "%s has %q, which is no name of a label: %s" $path $key (include "hookbay.qualifiedNameRule" $) | quote }}
{{- end }}
{{- if not (regexMatch "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$" (toString $value)) }}
- {{ printf "%s.%s must be at most 63 letters, digits, - _ and ., with a letter or digit at both ends (it is %q)" $path $key $value | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- range $path := list "podAnnotations" "api.annotations" "api.podAnnotations" "worker.annotations" "worker.podAnnotations" "worker.keda.annotations" "migrations.annotations" "migrations.podAnnotations" "serviceAccount.annotations" "service.annotations" "ingress.annotations" "httpRoute.annotations" "metrics.dashboard.annotations" }}
{{- range $key, $value := include "hookbay.value" (list $ $path) | fromJson }}
{{- if not (include "hookbay.isQualifiedName" (lower $key)) }}
- {{ printf "%s has %q, which is no name of an annotation: %s" $path $key (include "hookbay.qualifiedNameRule" $) | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- if not (regexMatch "^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$" (.Values.image.tag | default "")) }}
- {{ printf "image.tag must be at most 128 letters, digits, - _ and . (it is %q)" .Values.image.tag | quote }}
{{- end }}
{{- end -}}

{{/* Names of objects that the values refer to, and keys of Secrets. */}}
{{- define "hookbay.checks.references" -}}
{{- $credentials := list "auth.jwt.secret" "auth.jwt.publicKey" "mysql.username" "mysql.password" "mysql.bundled.rootPassword" "redis.username" "redis.password" "redis.sentinel.password" "tests.token" "extraCa" }}
{{- $names := list "serviceAccount.name" "migrations.serviceAccountName" "priorityClassName" "api.priorityClassName" "worker.priorityClassName" "ingress.className" }}
{{- range $credential := $credentials }}
{{- $names = append $names (printf "%s.existingSecret" $credential) }}
{{- $key := include "hookbay.value" (list $ (printf "%s.key" $credential)) }}
{{- if not (regexMatch "^\"[-._a-zA-Z0-9]{1,253}\"$" $key) }}
- {{ printf "%s.key must be letters, digits, - _ and . (it is %s)" $credential $key | quote }}
{{- end }}
{{- end }}
{{- range $path := $names }}
{{- $name := include "hookbay.value" (list $ $path) | trimAll "\"" }}
{{- if not (or (eq $name "null") (include "hookbay.isSubdomain" $name)) }}
- {{ printf "%s must be the name of an object: lower-case letters, digits, - and . (it is %q)" $path $name | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "hookbay.isQualifiedName" -}}
{{- $prefix := regexFind "^[^/]*/" . | trimSuffix "/" -}}
{{- $name := regexReplaceAll "^[^/]*/" . "" -}}
{{- if and (or (not (contains "/" .)) (include "hookbay.isSubdomain" $prefix)) (regexMatch "^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$" $name) }}true{{ end -}}
{{- end -}}

{{- define "hookbay.qualifiedNameRule" -}}
at most 63 letters, digits, - _ and ., with a letter or digit at both ends, and before it, where wanted, a domain and a slash
{{- end -}}

{{/* A DNS name in lower case, as names of most objects are. */}}
{{- define "hookbay.isSubdomain" -}}
{{- if and (le (len .) 253) (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$" .) }}true{{ end -}}
{{- end -}}

{{/* The value at a dotted path, as JSON; null when it is empty. Takes (list $ path). */}}
{{- define "hookbay.value" -}}
{{- $node := (index . 0).Values -}}
{{- range splitList "." (index . 1) }}{{ $node = get ($node | default dict) . }}{{ end -}}
{{- toJson ($node | default nil) -}}
{{- end -}}
