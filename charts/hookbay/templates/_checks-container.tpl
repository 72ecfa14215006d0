{{/* Variables, volumes and mounts that users add, where the API server would refuse them. Takes (list path variables). */}}
{{- define "hookbay.checks.environment" -}}
{{- $path := index . 0 }}
{{- $names := list }}
{{- range $i, $variable := index . 1 }}
{{- $name := toString $variable.name }}
{{- if not (regexMatch "^[-._a-zA-Z][-._a-zA-Z0-9]*$" $name) }}
- {{ printf "%s[%d].name must be the name of a variable: letters, digits, - _ and ., no digit first" $path $i | quote }}
{{- else if has $name $names }}
- {{ printf "%s has %s twice" $path $name | quote }}
{{- end }}
{{- $names = append $names $name }}
{{- if and (hasKey $variable "value") (not (kindIs "string" $variable.value)) }}
- {{ printf "%s: the value of %s must be text; put it in quotes" $path $name | quote }}
{{- end }}
{{- if or (omit $variable "name" "value" "valueFrom") (and $variable.value $variable.valueFrom) (and (hasKey $variable "valueFrom") (ne (len ($variable.valueFrom | default dict)) 1)) }}
- {{ printf "%s: %s must have a value, or a valueFrom with one source" $path $name | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Takes (list $ "", "api." or "worker." that component's values); "" is what all pods have. */}}
{{- define "hookbay.checks.storage" -}}
{{- $root := index . 0 }}
{{- $prefix := index . 1 }}
{{- $own := index . 2 }}
{{- $names := ternary (list "tmp" "ca") (list "tmp") (not (empty $root.Values.extraCa.existingSecret)) }}
{{- $paths := ternary (list "/tmp" "/etc/hookbay/ca") (list "/tmp") (not (empty $root.Values.extraCa.existingSecret)) }}
{{- if $prefix }}
{{- range $root.Values.extraVolumes }}{{ $names = append $names (toString .name) }}{{ end }}
{{- range $root.Values.extraVolumeMounts }}{{ $paths = append $paths (toString .mountPath) }}{{ end }}
{{- end }}
{{- range $i, $volume := $own.extraVolumes }}
{{- $name := toString $volume.name }}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$" $name) }}
- {{ printf "%sextraVolumes[%d].name must be at most 63 lower-case letters, digits and -, with a letter or digit at both ends" $prefix $i | quote }}
{{- else if has $name $names }}
- {{ printf "%sextraVolumes[%d].name must be another one: pods have a volume %s already" $prefix $i $name | quote }}
{{- end }}
{{- if gt (len (omit $volume "name")) 1 }}
- {{ printf "%sextraVolumes[%d] must have one source, and has %s" $prefix $i (omit $volume "name" | keys | sortAlpha | join " and ") | quote }}
{{- end }}
{{- $names = append $names $name }}
{{- end }}
{{- range $i, $mount := $own.extraVolumeMounts }}
{{- if not (has $mount.name $names) }}
- {{ printf "%sextraVolumeMounts[%d].name must be that of a volume of these pods (%s)" $prefix $i (join ", " $names) | quote }}
{{- end }}
{{- if or (not $mount.mountPath) (contains ":" (toString $mount.mountPath)) (has $mount.mountPath $paths) }}
- {{ printf "%sextraVolumeMounts[%d].mountPath must be a path without colons where nothing else is mounted (taken are %s)" $prefix $i (join ", " $paths) | quote }}
{{- end }}
{{- $paths = append $paths $mount.mountPath }}
{{- end }}
{{- end -}}
