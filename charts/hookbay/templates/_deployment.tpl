{{/* The Deployment of a long-running role. Takes (list $ role). */}}
{{- define "hookbay.deployment" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $values := get $root.Values $role -}}
{{- $pod := dict "root" $root "component" $role "values" $values "serviceAccountName" (include "hookbay.serviceAccountName" $root) -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "hookbay.fullname" $root }}-{{ $role }}
  namespace: {{ $root.Release.Namespace | quote }}
  labels:
    {{- include "hookbay.labels" . | nindent 4 }}
  {{- with $values.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with include "hookbay.replicas" . }}
  replicas: {{ . }}
  {{- end }}
  revisionHistoryLimit: {{ $root.Values.revisionHistoryLimit }}
  strategy:
    {{- /* The default's rollingUpdate is merged in, and Kubernetes refuses it there. */}}
    {{- toYaml (ternary (omit $values.strategy "rollingUpdate") $values.strategy (eq (get $values.strategy "type") "Recreate")) | nindent 4 }}
  selector:
    matchLabels:
      {{- include "hookbay.selectorLabels" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "hookbay.podLabels" $pod | nindent 8 }}
      {{- with include "hookbay.podAnnotations" $pod }}
      {{- . | nindent 6 }}
      {{- end }}
    spec:
      {{- include "hookbay.podSpec" $pod | nindent 6 }}
      terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
      {{- with $values.topologySpreadConstraints }}
      topologySpreadConstraints:
        {{- range . }}
        - {{ toYaml . | nindent 10 | trim }}
          {{- if not .labelSelector }}
          labelSelector:
            matchLabels:
              {{- include "hookbay.selectorLabels" (list $root $role) | nindent 14 }}
          {{- end }}
          {{- if not .matchLabelKeys }}
          matchLabelKeys: [pod-template-hash]
          {{- end }}
        {{- end }}
      {{- end }}
      containers:
        - name: {{ $role }}
          args: [{{ $role }}]
          {{- include "hookbay.container" $pod | nindent 10 }}
          env:
            {{- include "hookbay.env" (list $root $role) | include "hookbay.env.unique" | nindent 12 }}
          ports:
            {{- if eq $role "api" }}
            - { name: http, containerPort: 8080, protocol: TCP }
            {{- end }}
            - { name: internal, containerPort: 9090, protocol: TCP }
          startupProbe:
            httpGet: { path: /readyz, port: internal }
            {{- with $values.probes.startup }}{{ toYaml . | nindent 12 }}{{ end }}
          readinessProbe:
            httpGet: { path: /readyz, port: internal }
            {{- with $values.probes.readiness }}{{ toYaml . | nindent 12 }}{{ end }}
          # The event loop alone: an outage of a shared store must not restart the fleet.
          livenessProbe:
            httpGet: { path: /livez, port: internal }
            {{- with $values.probes.liveness }}{{ toYaml . | nindent 12 }}{{ end }}
          {{- if gt (int64 $values.preStopSleepSeconds) 0 }}
          lifecycle:
            preStop:
              sleep: { seconds: {{ $values.preStopSleepSeconds }} }
          {{- end }}
{{- end -}}

{{/*
The number of pods, as text. Where an autoscaler or a hand decides, it is the number that there is: were it left
out of a manifest that had it, Kubernetes would take 1 for it. It is left out where nothing is there yet, or
where server-side apply tells that it is not ours alone: saying it could be a conflict then. Takes (list $ role).
*/}}
{{- define "hookbay.replicas" -}}
{{- $root := index . 0 -}}
{{- $values := get $root.Values (index . 1) -}}
{{- if not (or $values.autoscaling.enabled (dig "keda" "enabled" false $values) (kindIs "invalid" $values.replicaCount)) -}}
{{- $values.replicaCount -}}
{{- else -}}
{{- $live := lookup "apps/v1" "Deployment" $root.Release.Namespace (printf "%s-%s" (include "hookbay.fullname" $root) (index . 1)) | default dict -}}
{{- $applied := false -}}
{{- $ours := false -}}
{{- $foreign := false -}}
{{- range dig "metadata" "managedFields" list $live -}}
{{- $fields := dig "fieldsV1" "f:spec" dict . -}}
{{- if and (eq .operation "Apply") (hasKey $fields "f:template") }}{{ $applied = true }}{{ $ours = hasKey $fields "f:replicas" }}
{{- else if hasKey $fields "f:replicas" }}{{ $foreign = true }}{{ end -}}
{{- end -}}
{{- if or (not $applied) (and $ours (not $foreign)) }}{{ dig "spec" "replicas" "" $live }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* Takes (list $ role). */}}
{{- define "hookbay.podDisruptionBudget" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "hookbay.fullname" $root }}-{{ $role }}
  namespace: {{ $root.Release.Namespace | quote }}
  labels:
    {{- include "hookbay.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ (get $root.Values $role).podDisruptionBudget.maxUnavailable }}
  # A pod that never got ready must not hold up the drain of its node.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "hookbay.selectorLabels" . | nindent 6 }}
{{- end -}}

{{/* Takes (list $ role). */}}
{{- define "hookbay.horizontalPodAutoscaler" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $scaling := (get $root.Values $role).autoscaling -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "hookbay.fullname" $root }}-{{ $role }}
  namespace: {{ $root.Release.Namespace | quote }}
  labels:
    {{- include "hookbay.labels" . | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "hookbay.fullname" $root }}-{{ $role }}
  minReplicas: {{ $scaling.minReplicas }}
  maxReplicas: {{ $scaling.maxReplicas }}
  metrics:
    {{- range $resource, $target := dict "cpu" $scaling.targetCPUUtilizationPercentage "memory" $scaling.targetMemoryUtilizationPercentage }}
    {{- with $target }}
    - type: Resource
      resource:
        name: {{ $resource }}
        target: { type: Utilization, averageUtilization: {{ . }} }
    {{- end }}
    {{- end }}
    {{- with $scaling.metrics }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $scaling.behavior }}
  behavior:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
