{{/* What all Hookbay pods have in common. Takes (dict "root" $ "component" name "values" its values "serviceAccountName" name). */}}
{{- define "hookbay.podSpec" -}}
{{- $values := .root.Values -}}
serviceAccountName: {{ .serviceAccountName }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- include "hookbay.imagePullSecrets" .root }}
securityContext:
  {{- toYaml $values.podSecurityContext | nindent 2 }}
{{- with .values.priorityClassName | default $values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .values.nodeSelector | default $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations | default $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity | default $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.extraInitContainers }}
initContainers:
  {{- tpl (toYaml .) $.root | nindent 2 }}
{{- end }}
volumes:
  - name: tmp
    emptyDir: { sizeLimit: 64Mi }
  {{- if $values.extraCa.existingSecret }}
  - name: ca
    secret:
      secretName: {{ $values.extraCa.existingSecret | quote }}
      items:
        - { key: {{ $values.extraCa.key | quote }}, path: ca.crt }
  {{- end }}
  {{- with concat $values.extraVolumes (.values.extraVolumes | default list) }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Image, security and mounts of a Hookbay container. Takes what hookbay.podSpec takes. */}}
{{- define "hookbay.container" -}}
{{- $values := .root.Values -}}
image: {{ include "hookbay.image" .root | quote }}
imagePullPolicy: {{ $values.image.pullPolicy }}
securityContext:
  {{- toYaml $values.securityContext | nindent 2 }}
{{- with .values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  - { name: tmp, mountPath: /tmp }
  {{- if $values.extraCa.existingSecret }}
  - { name: ca, mountPath: /etc/hookbay/ca, readOnly: true }
  {{- end }}
  {{- with concat $values.extraVolumeMounts (.values.extraVolumeMounts | default list) }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Labels of pods: those of the selector and the user's own; nothing that changes with a release. */}}
{{- define "hookbay.podLabels" -}}
{{ include "hookbay.selectorLabels" (list .root .component) }}
{{- with merge dict (.values.podLabels | default dict) .root.Values.podLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "hookbay.podAnnotations" -}}
{{- $annotations := merge dict (.values.podAnnotations | default dict) .root.Values.podAnnotations -}}
{{- with include "hookbay.credentialsChecksum" .root }}{{ $_ := set $annotations "checksum/credentials" . }}{{ end -}}
{{- with $annotations -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
