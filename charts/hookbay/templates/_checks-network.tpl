{{/* Services, routes and network policies that the API server would refuse. */}}
{{- define "hookbay.checks.network" -}}
{{- with .Values.service }}
{{- range $name, $value := dict "nodePort" .nodePort "externalTrafficPolicy" .externalTrafficPolicy }}
{{- if and $value (eq $.Values.service.type "ClusterIP") }}
- {{ printf "service.%s is for service.type NodePort or LoadBalancer" $name | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.ingress.enabled }}
{{- include "hookbay.checks.hosts" (list "ingress.hosts" .Values.ingress.hosts) }}
{{- range $i, $tls := .Values.ingress.tls }}
{{- include "hookbay.checks.hosts" (list (printf "ingress.tls[%d].hosts" $i) ($tls.hosts | default list)) }}
{{- if not (or (not $tls.secretName) (include "hookbay.isSubdomain" $tls.secretName)) }}
- {{ printf "ingress.tls[%d].secretName must be the name of a Secret (it is %q)" $i $tls.secretName | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.httpRoute.enabled }}
{{- include "hookbay.checks.hosts" (list "httpRoute.hostnames" .Values.httpRoute.hostnames) }}
{{- if gt (len .Values.httpRoute.hostnames) 16 }}
- httpRoute.hostnames must be 16 at most
{{- end }}
{{- range $i, $parent := .Values.httpRoute.parentRefs }}
{{- if not $parent.name }}
- {{ printf "httpRoute.parentRefs[%d].name is missing" $i | quote }}
{{- end }}
{{- end }}
{{- $timeouts := .Values.httpRoute.timeouts | default dict }}
{{- $whole := include "hookbay.milliseconds" ($timeouts.request | default "0s") | int64 }}
{{- if and (gt $whole 0) (gt (include "hookbay.milliseconds" ($timeouts.backendRequest | default "0s") | int64) $whole) }}
- httpRoute.timeouts.backendRequest must not be longer than httpRoute.timeouts.request
{{- end }}
{{- end }}
{{- with .Values.networkPolicy }}
{{- if .enabled }}
{{- range $name := list "apiFrom" "metricsFrom" "kedaFrom" "mysqlTo" "redisTo" }}
{{- include "hookbay.checks.peers" (list (printf "networkPolicy.%s" $name) (get $.Values.networkPolicy $name)) }}
{{- end }}
{{- range $i, $rule := .extraEgress }}
{{- include "hookbay.checks.peers" (list (printf "networkPolicy.extraEgress[%d].to" $i) ($rule.to | default list)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Takes (list path hosts). */}}
{{- define "hookbay.checks.hosts" -}}
{{- $path := index . 0 }}
{{- range index . 1 }}
{{- $name := trimPrefix "*." . }}
{{- if or (not (include "hookbay.isSubdomain" $name)) (regexMatch "^[0-9.]+$" $name) }}
- {{ printf "%s must be host names in lower case, without scheme, port or path, and no addresses (one is %q)" $path . | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Takes (list path peers). */}}
{{- define "hookbay.checks.peers" -}}
{{- $path := index . 0 }}
{{- range $i, $peer := index . 1 }}
{{- $unknown := keys (omit $peer "podSelector" "namespaceSelector" "ipBlock") }}
{{- if or $unknown (not $peer) (and (hasKey $peer "ipBlock") (gt (len $peer) 1)) }}
- {{ printf "%s[%d] must be an ipBlock, or a podSelector, a namespaceSelector or both; {} is no peer (everybody: leave the list empty)" $path $i | quote }}
{{- end }}
{{- with $peer.ipBlock }}
{{- range prepend (.except | default list) (.cidr | default "") }}
{{- if not (regexMatch "^(([0-9]{1,3}[.]){3}[0-9]{1,3}/([0-9]|[12][0-9]|3[0-2])|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*/([0-9]|[1-9][0-9]|1[01][0-9]|12[0-8]))$" (toString .)) }}
- {{ printf "%s[%d].ipBlock must be a network with a mask, like 10.0.0.0/8 or 192.0.2.7/32 (it is %q)" $path $i . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
