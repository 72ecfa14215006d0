{{/*
What the chart's own Secret holds, as a map of key → {value, generated}: given values, and what has to be
made up because nobody gave it. Keys that come from existing Secrets are not in it.
*/}}
{{- define "hookbay.ownCredentials" -}}
{{- $own := dict -}}
{{- $jwt := .Values.auth.jwt -}}
{{- if $jwt.publicKey.value }}{{ $_ := set $own "jwt-public-key" (dict "value" $jwt.publicKey.value) }}{{ end -}}
{{- if $jwt.secret.value }}{{ $_ := set $own "jwt-secret" (dict "value" $jwt.secret.value) }}
{{- else if eq (include "hookbay.jwtKind" .) "generated" }}{{ $_ := set $own "jwt-secret" (dict "length" 64) }}{{ end -}}
{{- if .Values.mysql.password.value }}{{ $_ := set $own (include "hookbay.passwordKey" (list . "mysql")) (dict "value" .Values.mysql.password.value) }}
{{- else if and .Values.mysql.bundled.enabled (not .Values.mysql.password.existingSecret) }}{{ $_ := set $own "mysql-password" (dict "length" 32) }}{{ end -}}
{{- if .Values.mysql.bundled.enabled -}}
{{- $root := .Values.mysql.bundled.rootPassword -}}
{{- if $root.value }}{{ $_ := set $own "mysql-root-password" (dict "value" $root.value) }}
{{- else if not $root.existingSecret }}{{ $_ := set $own "mysql-root-password" (dict "length" 32) }}{{ end -}}
{{- end -}}
{{- if .Values.redis.password.value }}{{ $_ := set $own (include "hookbay.passwordKey" (list . "redis")) (dict "value" .Values.redis.password.value) }}
{{- else if and .Values.redis.bundled.enabled (not .Values.redis.password.existingSecret) }}{{ $_ := set $own "redis-password" (dict "length" 32) }}{{ end -}}
{{- if .Values.redis.sentinel.password.value }}{{ $_ := set $own "redis-sentinel-password" (dict "value" .Values.redis.sentinel.password.value) }}{{ end -}}
{{- if .Values.tests.token.value }}{{ $_ := set $own "test-token" (dict "value" .Values.tests.token.value) }}{{ end -}}
{{- toJson $own -}}
{{- end -}}

{{/*
Key of a store's password in the chart's own Secret. That of an external store has a key of its own, for it must
not take the place of the bundled one's, whose volume stays and opens to no other. Takes (list $ "mysql" or "redis").
*/}}
{{- define "hookbay.passwordKey" -}}
{{- $store := index . 1 -}}
{{- printf (ternary "%s-password" "%s-external-password" (get (index . 0).Values $store).bundled.enabled) $store -}}
{{- end -}}

{{/*
What was made up once and is not asked for now, by key: a bundled store that is switched off, say, whose volume
stays. Empty where there is no look into the cluster: at the first install, under `helm template` and Argo CD.
*/}}
{{- define "hookbay.keptCredentials" -}}
{{- $found := (lookup "v1" "Secret" .Release.Namespace (include "hookbay.fullname" .) | default dict).data | default dict -}}
{{- toJson (pick $found "jwt-secret" "mysql-password" "mysql-root-password" "redis-password") -}}
{{- end -}}

{{/* "secret", "publicKey", "jwks" or "generated" (a secret, too). */}}
{{- define "hookbay.jwtKind" -}}
{{- $jwt := .Values.auth.jwt -}}
{{- if or $jwt.publicKey.value $jwt.publicKey.existingSecret }}publicKey
{{- else if $jwt.jwksUrl }}jwks
{{- else if or $jwt.secret.value $jwt.secret.existingSecret }}secret
{{- else }}generated
{{- end -}}
{{- end -}}

{{/* Whether the chart makes something up; "" when not. */}}
{{- define "hookbay.generates" -}}
{{- range $key, $own := include "hookbay.ownCredentials" . | fromJson }}{{ if not $own.value }}{{ $key }} {{ end }}{{ end -}}
{{- end -}}

{{/*
Changes when a given credential does, so that pods start anew. What is generated is never changed by the
chart, and must not count: `helm template` makes it up anew each time.
*/}}
{{- define "hookbay.credentialsChecksum" -}}
{{- $given := dict -}}
{{- range $key, $own := include "hookbay.ownCredentials" . | fromJson }}{{ if $own.value }}{{ $_ := set $given $key $own.value }}{{ end }}{{ end -}}
{{- if $given }}{{ toJson $given | sha256sum }}{{ end -}}
{{- end -}}

{{/*
An environment variable from a credential that is kept in a Secret.
Takes (dict "root" $ "env" NAME "credential" value "ownKey" key in the chart's Secret, "ownSecret" optional name).
*/}}
{{- define "hookbay.env.credential" -}}
- name: {{ .env }}
  valueFrom:
    secretKeyRef:
      {{- include "hookbay.credentialRef" . | nindent 6 }}
{{- end -}}

{{- define "hookbay.credentialRef" -}}
{{- if .credential.existingSecret -}}
name: {{ .credential.existingSecret | quote }}
key: {{ .credential.key | quote }}
{{- else -}}
name: {{ .ownSecret | default (include "hookbay.fullname" .root) }}
key: {{ .ownKey }}
{{- end -}}
{{- end -}}

{{/* A user name is no secret, but may be in one. Takes what hookbay.env.credential takes, and "fallback". */}}
{{- define "hookbay.env.username" -}}
{{- if .credential.existingSecret -}}
{{- include "hookbay.env.credential" . -}}
{{- else -}}
- name: {{ .env }}
  value: {{ .credential.value | default .fallback | quote }}
{{- end -}}
{{- end -}}
