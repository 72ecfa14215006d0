/**
 * Values, as with --set-json, whose manifests the API server (or an operator's) refuses, and the chart's message
 * instead.
 */
type Refused = [json: string, message: RegExp];

const METADATA: Refused[] = [
  ['commonLabels={"team":"a b"}', /commonLabels\.team must be at most 63 letters/],
  ['commonLabels={"team/a/b":"x"}', /commonLabels has "team\/a\/b", which is no name of a label/],
  [`podLabels={"team":"${'x'.repeat(64)}"}`, /podLabels\.team must be at most 63 letters/],
  ['api.podLabels={"team":"-x"}', /api\.podLabels\.team must be/],
  ['worker.podLabels={"-team":"x"}', /worker\.podLabels has "-team"/],
  ['migrations.podLabels={"team":"x."}', /migrations\.podLabels\.team must be/],
  ['nodeSelector={"disk":"fast/ssd"}', /nodeSelector\.disk must be/],
  ['worker.nodeSelector={"UPPER.example.com/disk":"ssd"}', /worker\.nodeSelector has "UPPER\.example\.com\/disk"/],
  ['metrics.dashboard={"enabled":true,"labels":{"a":"b c"}}', /metrics\.dashboard\.labels\.a must be/],
  [`podAnnotations={"${'x'.repeat(64)}":"y"}`, /podAnnotations has "x+", which is no name of an annotation/],
  ['api.annotations={"a b":"c"}', /api\.annotations has "a b"/],
  ['service.annotations={"a/b/c":"d"}', /service\.annotations has "a\/b\/c"/],
  ['serviceAccount.annotations={"example.com/":"d"}', /serviceAccount\.annotations has "example\.com\/"/],
  ['image.tag="1.0:latest"', /image\.tag must be at most 128/],
  ['fullnameOverride="null"', /fullnameOverride is needed: the release's name makes resources null-…/],
  ['serviceAccount.name="Hooks"', /serviceAccount\.name must be the name of an object/],
  ['priorityClassName="High Priority"', /priorityClassName must be the name of an object/],
  ['mysql.password={"existingSecret":"my_secret"}', /mysql\.password\.existingSecret must be the name of an object/],
  ['mysql.password={"existingSecret":"mine","key":"pass word"}', /mysql\.password\.key must be letters/],
];

const NETWORK: Refused[] = [
  ['service={"nodePort":30080}', /service\.nodePort is for service\.type NodePort or LoadBalancer/],
  ['service={"externalTrafficPolicy":"Local"}', /service\.externalTrafficPolicy is for service\.type/],
  ...[
    'Hooks.example.com',
    'hooks.example.com:8443',
    '192.0.2.7',
    'https://hooks.example.com',
    'hooks_a.example.com',
    'a.*.example.com',
  ].map((host): Refused => [
    `ingress={"enabled":true,"hosts":[${JSON.stringify(host)}]}`,
    /ingress\.hosts must be host names in lower case/,
  ]),
  [
    'ingress={"enabled":true,"hosts":["a.example.com"],"tls":[{"hosts":["A.example.com"]}]}',
    /ingress\.tls\[0\]\.hosts must be host names/,
  ],
  [
    'ingress={"enabled":true,"hosts":["a.example.com"],"tls":[{"secretName":"My_Cert"}]}',
    /ingress\.tls\[0\]\.secretName must be/,
  ],
  [
    'ingress={"enabled":true,"hosts":["a.example.com"],"className":"Nginx"}',
    /ingress\.className must be the name of an object/,
  ],
  [
    'httpRoute={"enabled":true,"parentRefs":[{"name":"g"}],"hostnames":["Hooks.example.com"]}',
    /httpRoute\.hostnames must be host names/,
  ],
  [
    `httpRoute={"enabled":true,"parentRefs":[{"name":"g"}],"hostnames":${JSON.stringify(Array.from({ length: 17 }, (_, i) => `h${i}.example.com`))}}`,
    /httpRoute\.hostnames must be 16 at most/,
  ],
  [
    'httpRoute={"enabled":true,"parentRefs":[{"sectionName":"g"}],"hostnames":["a.example.com"]}',
    /httpRoute\.parentRefs\[0\]\.name is missing/,
  ],
  [
    'httpRoute={"enabled":true,"parentRefs":[{"name":"g"}],"hostnames":["a.example.com"],"timeouts":{"request":"60s","backendRequest":"2m"}}',
    /backendRequest must not be longer than/,
  ],
  ['networkPolicy={"enabled":true,"apiFrom":[{}]}', /networkPolicy\.apiFrom\[0\] must be an ipBlock, or a podSelector/],
  [
    'networkPolicy={"enabled":true,"metricsFrom":[{"ipBlock":{"cidr":"10.0.0.1"}}]}',
    /networkPolicy\.metricsFrom\[0\]\.ipBlock must be a network with a mask/,
  ],
  [
    'networkPolicy={"enabled":true,"apiFrom":[{"ipBlock":{"cidr":"10.0.0.0/33"}}]}',
    /networkPolicy\.apiFrom\[0\]\.ipBlock must be a network/,
  ],
  [
    'networkPolicy={"enabled":true,"apiFrom":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0"]}}]}',
    /apiFrom\[0\]\.ipBlock must be a network .*10\.1\.0\.0/,
  ],
  [
    'networkPolicy={"enabled":true,"apiFrom":[{"ipBlock":{"cidr":"10.0.0.0/8"},"podSelector":{}}]}',
    /networkPolicy\.apiFrom\[0\] must be an ipBlock, or/,
  ],
  [
    'networkPolicy={"enabled":true,"extraEgress":[{"to":[{}]}]}',
    /networkPolicy\.extraEgress\[0\]\.to\[0\] must be an ipBlock, or/,
  ],
];

const SCALING: Refused[] = [
  [
    'api.autoscaling={"enabled":true,"minReplicas":5,"maxReplicas":3}',
    /api\.autoscaling\.minReplicas must be at most maxReplicas/,
  ],
  [
    'worker.autoscaling={"enabled":true,"minReplicas":11}',
    /worker\.autoscaling\.minReplicas must be at most maxReplicas/,
  ],
  [
    'worker.keda={"enabled":true,"minReplicaCount":5,"maxReplicaCount":3}',
    /worker\.keda\.minReplicaCount must be at most maxReplicaCount/,
  ],
  ['worker.keda={"enabled":true,"fallback":{"replicas":3}}', /fallback/],
  ['worker.keda={"enabled":true,"extraTriggers":[{"type":"cron"}]}', /metadata/],
  [
    'api.autoscaling={"enabled":true,"behavior":{"scaleDown":{"stabilizationWindowSeconds":7200}}}',
    /stabilizationWindowSeconds/,
  ],
  ['api.autoscaling={"enabled":true,"behavior":{"scaleUp":{"policies":[]}}}', /policies/],
  ['api.autoscaling={"enabled":true,"metrics":[{"type":"Cpu"}]}', /metrics/],
  [
    'api.strategy.rollingUpdate={"maxSurge":0}',
    /api\.strategy\.rollingUpdate: maxSurge and maxUnavailable must not both be 0/,
  ],
  [
    'worker.strategy.rollingUpdate={"maxSurge":"0%","maxUnavailable":"0%"}',
    /worker\.strategy\.rollingUpdate: maxSurge and maxUnavailable/,
  ],
  [
    'worker.strategy.rollingUpdate={"maxSurge":"120 percent"}',
    /worker\.strategy\.rollingUpdate\.maxSurge must be a number or a share/,
  ],
  ['api.strategy={"type":"Rolling"}', /api\.strategy\.type must be RollingUpdate or Recreate/],
  ['api.podDisruptionBudget={"minAvailable":1}', /minAvailable/],
];

const PODS: Refused[] = [
  ['api.probes.liveness={"successThreshold":2}', /api\.probes\.liveness\.successThreshold must be 1/],
  ['worker.probes.startup={"successThreshold":3}', /worker\.probes\.startup\.successThreshold must be 1/],
  [
    'api.probes.readiness={"terminationGracePeriodSeconds":10}',
    /api\.probes\.readiness takes no terminationGracePeriodSeconds/,
  ],
  [
    'api.resources={"requests":{"memory":"2Gi"}}',
    /api\.resources\.requests\.memory must be at most the limit \(it is 2Gi of 1Gi\)/,
  ],
  [
    'worker.resources={"requests":{"cpu":2},"limits":{"cpu":"1500m"}}',
    /worker\.resources\.requests\.cpu must be at most the limit/,
  ],
  [
    'mysql.bundled.resources={"requests":{"memory":"2G"}}',
    /mysql\.bundled\.resources\.requests\.memory must be at most/,
  ],
  ['migrations.resources={"requests":{"cpu":"100 m"}}', /migrations\.resources\.requests\.cpu must be a quantity/],
  ['tests.resources={"limits":{"mem":"1Gi"}}', /tests\.resources\.limits has "mem", which is no resource/],
  [
    'extraVolumes=[{"name":"tmp","emptyDir":{}}]',
    /extraVolumes\[0\]\.name must be another one: pods have a volume tmp already/,
  ],
  [
    'api.extraVolumes=[{"name":"a","emptyDir":{}},{"name":"a","emptyDir":{}}]',
    /api\.extraVolumes\[1\]\.name must be another one/,
  ],
  ['worker.extraVolumes=[{"name":"My_Volume","emptyDir":{}}]', /worker\.extraVolumes\[0\]\.name must be at most 63/],
  [
    'extraVolumes=[{"name":"a","emptyDir":{},"secret":{"secretName":"b"}}]',
    /extraVolumes\[0\] must have one source, and has emptyDir and secret/,
  ],
  ['extraVolumeMounts=[{"name":"none","mountPath":"/none"}]', /extraVolumeMounts\[0\]\.name must be that of a volume/],
  [
    'api.extraVolumeMounts=[{"name":"tmp","mountPath":"/tmp"}]',
    /api\.extraVolumeMounts\[0\]\.mountPath must be a path .* \(taken are \/tmp\)/,
  ],
  ['worker.extraVolumeMounts=[{"name":"tmp"}]', /worker\.extraVolumeMounts\[0\]\.mountPath must be/],
  ['extraEnv=[{"name":"LIMIT","value":5}]', /extraEnv: the value of LIMIT must be text; put it in quotes/],
  ['api.extraEnv=[{"name":"ON","value":true}]', /api\.extraEnv: the value of ON must be text/],
  [
    'migrations.extraEnv=[{"name":"A=B","value":"c"}]',
    /migrations\.extraEnv\[0\]\.name must be the name of a variable/,
  ],
  ['worker.extraEnv=[{"value":"c"}]', /worker\.extraEnv\[0\]\.name must be/],
  [
    'extraEnv=[{"name":"A","value":"c","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]',
    /extraEnv: A must have a value, or a valueFrom/,
  ],
  ['extraEnv=[{"name":"A","valueFrom":{}}]', /extraEnv: A must have a value, or a valueFrom/],
  [
    'extraInitContainers=[{"name":"api","image":"x"}]',
    /extraInitContainers\[0\] must have an image, and a name of its own/,
  ],
  ['extraInitContainers=[{"name":"proxy"}]', /extraInitContainers\[0\] must have an image/],
  [
    'api.topologySpreadConstraints=[{"maxSkew":1,"whenUnsatisfiable":"DoNotSchedule"}]',
    /api\.topologySpreadConstraints\[0\] must have a topologyKey/,
  ],
  [
    'worker.topologySpreadConstraints=[{"maxSkew":0,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}]',
    /worker\.topologySpreadConstraints\[0\] must have/,
  ],
  [
    'api.topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"Never"}]',
    /api\.topologySpreadConstraints\[0\] must have/,
  ],
  [
    'api.topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway","minDomains":2}]',
    /minDomains is for/,
  ],
  [
    'api.topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"ScheduleAnyway"},{"maxSkew":2,"topologyKey":"z","whenUnsatisfiable":"ScheduleAnyway"}]',
    /\[1\] is there twice: z ScheduleAnyway/,
  ],
  [
    'tolerations=[{"operator":"Equal","value":"x"}]',
    /tolerations\[0\] must have a key and a value, or operator Exists/,
  ],
  ['api.tolerations=[{"key":"a","operator":"Exists","value":"x"}]', /api\.tolerations\[0\] must have a key/],
  ['worker.tolerations=[{"key":"a","effect":"Sometimes"}]', /worker\.tolerations\[0\]\.effect must be/],
  [
    'worker.tolerations=[{"key":"a","effect":"NoSchedule","tolerationSeconds":5}]',
    /worker\.tolerations\[0\]\.tolerationSeconds is for effect NoExecute/,
  ],
  ['redis.bundled.persistence={"size":"0Gi"}', /size/],
];

const TELEMETRY: Refused[] = [
  [
    'metrics.podMonitor={"enabled":true,"interval":"30s1m"}',
    /metrics\.podMonitor\.interval must be a duration as Prometheus writes it/,
  ],
  [
    'metrics.serviceMonitor={"enabled":true,"interval":"5s"}',
    /metrics\.serviceMonitor\.scrapeTimeout must not be longer than its interval/,
  ],
  ['metrics.prometheusRule={"enabled":true,"alertLabels":{"my-team":"a"}}', /alertLabels has "my-team"/],
];

/** Values that the API server accepts, although they have no effect, or another one than they suggest. */
const MISLEADING: Refused[] = [
  ['extraCa={"existingSecret":"ca","key":"a/b"}', /extraCa\.key must be letters/],
  ['imagePullSecrets=[{}]', /imagePullSecrets/],
  [
    'metrics.prometheusRule={"enabled":true,"disabled":["HookbayGone"]}',
    /metrics\.prometheusRule\.disabled names "HookbayGone"/,
  ],
  [
    'api.autoscaling={"enabled":true,"targetCPUUtilizationPercentage":null}',
    /api\.autoscaling needs a target or one of metrics/,
  ],
  [
    'api={"resources":{"requests":{"cpu":null}},"autoscaling":{"enabled":true}}',
    /api\.resources\.requests\.cpu is missing/,
  ],
  ['extraEnv=[{"name":"A","value":"b"},{"name":"A","value":"c"}]', /extraEnv has A twice/],
];

export const REFUSED = [...METADATA, ...NETWORK, ...SCALING, ...PODS, ...TELEMETRY, ...MISLEADING];
