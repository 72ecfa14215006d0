{{/* Annotations of what has to be there before the hook Job. */}}
{{- define "hookbay.beforeMigration" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: "-10"
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{- define "hookbay.migrationSecret" -}}
{{- include "hookbay.fullname" . }}-migrate
{{- end -}}

{{/* Whether the hook Job needs a copy of the database's password that exists before the release does. */}}
{{- define "hookbay.copiesPassword" -}}
{{- if and .Values.migrations.enabled (eq (include "hookbay.migrationsMode" .) "hook") .Values.mysql.password.value }}true{{ end -}}
{{- end -}}

{{/* A hook may name only what exists before the release: no ServiceAccount and no Secret of the chart's. */}}
{{- define "hookbay.migrationSpec" -}}
{{- $hook := eq (include "hookbay.migrationsMode" .) "hook" -}}
{{- $account := .Values.migrations.serviceAccountName | default (ternary "default" (include "hookbay.serviceAccountName" .) $hook) -}}
{{- $secret := ternary (include "hookbay.migrationSecret" .) "" (eq (include "hookbay.copiesPassword" .) "true") -}}
{{- $pod := dict "root" . "component" "migration" "values" .Values.migrations "serviceAccountName" $account -}}
backoffLimit: {{ .Values.migrations.backoffLimit }}
activeDeadlineSeconds: {{ .Values.migrations.activeDeadlineSeconds }}
{{- if not (kindIs "invalid" .Values.migrations.ttlSecondsAfterFinished) }}
ttlSecondsAfterFinished: {{ .Values.migrations.ttlSecondsAfterFinished }}
{{- end }}
podFailurePolicy:
  rules:
    # What is misconfigured stays so, however often it is tried.
    - action: FailJob
      onExitCodes: { containerName: migrate, operator: In, values: [78] }
    # A pod that had to leave its node was no try.
    - action: Ignore
      onPodConditions:
        - { type: DisruptionTarget, status: "True" }
template:
  metadata:
    labels:
      {{- include "hookbay.podLabels" $pod | nindent 6 }}
    {{- with include "hookbay.podAnnotations" $pod }}
    {{- . | nindent 4 }}
    {{- end }}
  spec:
    restartPolicy: Never
    {{- include "hookbay.podSpec" $pod | nindent 4 }}
    containers:
      - name: migrate
        args: [migrate]
        {{- include "hookbay.container" $pod | nindent 8 }}
        env:
          {{- include "hookbay.migrationEnv" (list . $secret) | include "hookbay.env.unique" | nindent 10 }}
{{- end -}}

{{- define "hookbay.migrationEnv" -}}
{{- $root := index . 0 -}}
{{ include "hookbay.env.mysql" (dict "root" $root "ownSecret" (index . 1)) }}
{{ include "hookbay.env.plans" $root }}
- name: MIGRATE_WAIT_SECONDS
  value: {{ $root.Values.migrations.waitSeconds | int64 | quote }}
{{- include "hookbay.env.extra" (list $root $root.Values.migrations) }}
{{- end -}}
