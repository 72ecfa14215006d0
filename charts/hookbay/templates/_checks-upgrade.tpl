{{/* A StatefulSet's claims can't be changed; the API server says so, but not what to do. */}}
{{- define "hookbay.checks.volumes" -}}
{{- range $store := list "mysql" "redis" }}
{{- $values := (get $.Values $store).bundled }}
{{- $name := printf "%s-%s" (include "hookbay.fullname" $) $store }}
{{- $live := lookup "apps/v1" "StatefulSet" $.Release.Namespace $name | default dict }}
{{- if and $values.enabled $live }}
{{- $path := printf "%s.bundled.persistence" $store }}
{{- $claims := dig "spec" "volumeClaimTemplates" list $live }}
{{- $claim := first $claims | default dict }}
{{- $size := dig "spec" "resources" "requests" "storage" "" $claim }}
{{- $class := dig "spec" "storageClassName" "" $claim }}
{{- $wanted := $values.persistence.storageClass | default "" }}
{{- $kubectl := printf "kubectl -n %s" $.Release.Namespace }}
{{- $replace := printf "%s delete statefulset %s --cascade=orphan, and upgrade again" $kubectl $name }}
{{- if ne $values.persistence.enabled (not (empty $claims)) }}
- {{ printf "%s.enabled can't change in a StatefulSet that exists: keep it; or, when its data may go, %s delete statefulset %s, and upgrade again" $path $kubectl $name | quote }}
{{- else if $values.persistence.enabled }}
{{- if ne (include "hookbay.quantity" $size) (include "hookbay.quantity" $values.persistence.size) }}
- {{ printf "%s.size can't change from %s to %s in a StatefulSet that exists: keep it; or enlarge the volume itself (%s patch pvc data-%s-0 -p '{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"%s\"}}}}'), then %s" $path $size $values.persistence.size $kubectl $name $values.persistence.size $replace | quote }}
{{- end }}
{{- if ne $class $wanted }}
- {{ printf "%s.storageClass can't change from %q to %q in a StatefulSet that exists: keep it" $path $class $wanted | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A Kubernetes quantity (512Mi, 1.5Gi, 250m, 1e3) as a number; "" when it is none. */}}
{{- define "hookbay.quantity" -}}
{{- $text := toString . -}}
{{- $factors := dict "" 1 "n" 1e-9 "u" 1e-6 "m" 1e-3 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{- $number := regexFind "^([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]+)?" $text -}}
{{- $unit := trimPrefix $number $text -}}
{{- if and $number (hasKey $factors $unit) }}{{ mulf $number (get $factors $unit) }}{{ end -}}
{{- end -}}
