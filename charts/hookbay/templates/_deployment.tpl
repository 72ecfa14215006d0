{{/* The Deployment of a long-running role. Takes (list $ role). */}}
{{- define "hookbay.deployment" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $values := get $root.Values $role -}}
{{- $pod := dict "root" $root "component" $role "values" $values "serviceAccountName" (include "hookbay.serviceAccountName" $root) -}}
{{- $autoscaled := or $values.autoscaling.enabled (dig "keda" "enabled" false $values) -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "hookbay.fullname" $root }}-{{ $role }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "hookbay.labels" . | nindent 4 }}
  {{- with $values.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- if not $autoscaled }}
  replicas: {{ $values.replicaCount }}
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
            {{- toYaml $values.probes.startup | nindent 12 }}
          readinessProbe:
            httpGet: { path: /readyz, port: internal }
            {{- toYaml $values.probes.readiness | nindent 12 }}
          # The event loop alone: an outage of a shared store must not restart the fleet.
          livenessProbe:
            httpGet: { path: /livez, port: internal }
            {{- toYaml $values.probes.liveness | nindent 12 }}
          {{- if gt (int64 $values.preStopSleepSeconds) 0 }}
          lifecycle:
            preStop:
              sleep: { seconds: {{ $values.preStopSleepSeconds }} }
          {{- end }}
{{- end -}}

{{/* Takes (list $ role). */}}
{{- define "hookbay.podDisruptionBudget" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "hookbay.fullname" $root }}-{{ $role }}
  namespace: {{ $root.Release.Namespace }}
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
  namespace: {{ $root.Release.Namespace }}
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
