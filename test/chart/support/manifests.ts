/** The part of the rendered objects that the tests read. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  spec?: Record<string, unknown>;
  data?: Record<string, string>;
}

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef?: { name: string; key: string } };
}

export interface Probe {
  httpGet?: { path: string; port: string };
  exec?: { command: string[] };
  tcpSocket?: { port: string };
  periodSeconds?: number;
  failureThreshold?: number;
}

export interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  env?: EnvVar[];
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
  securityContext?: {
    allowPrivilegeEscalation?: boolean;
    readOnlyRootFilesystem?: boolean;
    capabilities?: { drop?: string[] };
  };
  volumeMounts?: { name: string; mountPath: string }[];
  lifecycle?: { preStop?: { sleep?: { seconds: number } } };
  startupProbe?: Probe;
  readinessProbe?: Probe;
  livenessProbe?: Probe;
}

export interface PodSpec {
  serviceAccountName?: string;
  automountServiceAccountToken?: boolean;
  terminationGracePeriodSeconds?: number;
  securityContext?: { runAsNonRoot?: boolean; runAsUser?: number; fsGroup?: number; seccompProfile?: { type: string } };
  containers: Container[];
  initContainers?: Container[];
  volumes?: { name: string; secret?: { secretName: string }; configMap?: { name: string } }[];
  topologySpreadConstraints?: { labelSelector: { matchLabels: Record<string, string> } }[];
}

interface PodTemplate {
  metadata: { labels: Record<string, string>; annotations?: Record<string, string> };
  spec: PodSpec;
}

/** A pod that a manifest would start: its own, or that of its template. */
export interface Pod {
  owner: Manifest;
  labels: Record<string, string>;
  spec: PodSpec;
}

export function podsOf(manifests: Manifest[]): Pod[] {
  return manifests.flatMap((owner) => {
    if (owner.kind === 'Pod')
      return [{ owner, labels: owner.metadata.labels ?? {}, spec: owner.spec as unknown as PodSpec }];
    const template = owner.spec?.['template'] as PodTemplate | undefined;
    return template === undefined ? [] : [{ owner, labels: template.metadata.labels, spec: template.spec }];
  });
}

/** The one manifest of a kind whose name has this end. */
export function one(manifests: Manifest[], kind: string, ending = ''): Manifest {
  const found = manifests.filter((manifest) => manifest.kind === kind && manifest.metadata.name.endsWith(ending));
  if (found.length !== 1)
    throw new Error(
      `${found.length} of ${kind} …${ending}: ${manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`).join(', ')}`,
    );
  return found[0] as Manifest;
}

export function podOf(manifests: Manifest[], kind: string, ending: string): Pod & { container: Container } {
  const pod = podsOf([one(manifests, kind, ending)])[0] as Pod;
  return { ...pod, container: pod.spec.containers[0] as Container };
}

/** A field of a manifest's spec. */
export function specOf(manifest: Manifest | undefined, field: string): unknown {
  return manifest?.spec?.[field];
}

/** The container's environment in its process, with the values from Secrets among the manifests. */
export function environmentOf(manifests: Manifest[], container: Container): Record<string, string> {
  return Object.fromEntries(
    (container.env ?? []).map(({ name, value, valueFrom }) => {
      const reference = valueFrom?.secretKeyRef;
      if (reference === undefined) return [name, value ?? ''];
      const secret = manifests.find(({ kind, metadata }) => kind === 'Secret' && metadata.name === reference.name);
      return [name, Buffer.from(secret?.data?.[reference.key] ?? '', 'base64').toString()];
    }),
  );
}

export const isHook = ({ metadata }: Manifest): boolean => metadata.annotations?.['helm.sh/hook'] !== undefined;
export const hooksOf = ({ metadata }: Manifest): string[] => metadata.annotations?.['helm.sh/hook']?.split(',') ?? [];
export const isTest = (manifest: Manifest): boolean => hooksOf(manifest).includes('test');

/** Whether a selector matches these labels. */
export function selects(selector: Record<string, string>, labels: Record<string, string>): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value);
}
