{{/*
A single-node store on its official image: Service and StatefulSet.
Takes (dict "root" $ "component" "mysql" or "redis" "values" its bundled values "port" number "data" mount path "container" the rest of the container, as text "volumes" further volumes, as text).
*/}}
{{- define "hookbay.bundled" -}}
{{- $root := .root -}}
{{- $labels := list $root .component -}}
{{- $name := printf "%s-%s" (include "hookbay.fullname" $root) .component -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace | quote }}
  labels:
    {{- include "hookbay.labels" $labels | nindent 4 }}
spec:
  clusterIP: None
  selector:
    {{- include "hookbay.selectorLabels" $labels | nindent 4 }}
  ports:
    - { name: {{ .component }}, port: {{ .port }}, targetPort: {{ .component }}, protocol: TCP }
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace | quote }}
  labels:
    {{- include "hookbay.labels" $labels | nindent 4 }}
spec:
  serviceName: {{ $name }}
  replicas: 1
  revisionHistoryLimit: {{ $root.Values.revisionHistoryLimit }}
  selector:
    matchLabels:
      {{- include "hookbay.selectorLabels" $labels | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "hookbay.selectorLabels" $labels | nindent 8 }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      {{- with include "hookbay.imagePullSecrets" $root }}
      {{- . | indent 6 }}
      {{- end }}
      terminationGracePeriodSeconds: 120
      securityContext:
        {{- toYaml .values.podSecurityContext | nindent 8 }}
      {{- with $root.Values.priorityClassName }}
      priorityClassName: {{ . | quote }}
      {{- end }}
      {{- with $root.Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .component }}
          image: {{ include "hookbay.bundledImage" .values.image | quote }}
          imagePullPolicy: IfNotPresent
          securityContext:
            {{- toYaml $root.Values.securityContext | nindent 12 }}
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          ports:
            - { name: {{ .component }}, containerPort: {{ .port }}, protocol: TCP }
          {{- .container | nindent 10 }}
      volumes:
        {{- .volumes | nindent 8 }}
        {{- if not .values.persistence.enabled }}
        - name: data
          emptyDir: {}
        {{- end }}
  {{- if .values.persistence.enabled }}
  volumeClaimTemplates:
    # With what the API server would add, or every apply would find a difference.
    - apiVersion: v1
      kind: PersistentVolumeClaim
      metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        volumeMode: Filesystem
        {{- with .values.persistence.storageClass }}
        storageClassName: {{ . | quote }}
        {{- end }}
        resources:
          requests:
            storage: {{ .values.persistence.size }}
  {{- end }}
{{- end -}}

{{/* Bytes of a quantity like 512Mi, 1.5Gi or 1G; a bare number reaches templates as a float. */}}
{{- define "hookbay.bytes" -}}
{{- $text := ternary (. | int64 | toString) (toString .) (kindIs "float64" .) -}}
{{- $factors := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $number := regexFind "^[0-9]+([.][0-9]+)?" $text -}}
{{- $unit := trimPrefix $number $text -}}
{{- if or (not $number) (not (hasKey $factors $unit)) -}}
{{- fail (printf "a memory limit is %q, which is no quantity like 512Mi, 1.5Gi or 1G" $text) -}}
{{- end -}}
{{- mulf $number (get $factors $unit) | int64 -}}
{{- end -}}

{{/* Memory limit of a component's values, which may have taken `resources` or `limits` away; "" when there is none. */}}
{{- define "hookbay.memoryLimit" -}}
{{- with dig "limits" "memory" "" (.resources | default dict) }}{{ include "hookbay.bytes" . }}{{ end -}}
{{- end -}}
