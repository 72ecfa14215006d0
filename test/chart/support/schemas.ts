import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { step } from '../../../src/local/progress.ts';
import type { Manifest } from './manifests.ts';
import { CACHE, downloadModule } from './tools.ts';

/*
 * Schemas of the kinds that the chart renders, made strict: an unknown field fails, and so does a list with a duplicate
 * key, which server-side apply refuses. They are generated from the projects' Go modules.
 */
const KUBERNETES = 'k8s.io/kubernetes@v1.36.2';
const CRDS: Record<string, string[]> = {
  'sigs.k8s.io/gateway-api@v1.4.1': ['config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
  'github.com/kedacore/keda/v2@v2.19.0': [
    'config/crd/bases/keda.sh_scaledobjects.yaml',
    'config/crd/bases/keda.sh_triggerauthentications.yaml',
  ],
  'github.com/prometheus-operator/prometheus-operator@v0.85.0': [
    'podmonitors',
    'prometheusrules',
    'servicemonitors',
  ].map((name) => `example/prometheus-operator-crd/monitoring.coreos.com_${name}.yaml`),
};
const BUILT_IN_KINDS = [
  'v1/ConfigMap',
  'v1/Namespace',
  'v1/Pod',
  'v1/Secret',
  'v1/Service',
  'v1/ServiceAccount',
  'apps/v1/Deployment',
  'apps/v1/StatefulSet',
  'autoscaling/v2/HorizontalPodAutoscaler',
  'batch/v1/Job',
  'networking.k8s.io/v1/Ingress',
  'networking.k8s.io/v1/NetworkPolicy',
  'policy/v1/PodDisruptionBudget',
  'scheduling.k8s.io/v1/PriorityClass',
];

const FILE = join(CACHE, 'schemas-1-k1.36.2-g1.4.1-k2.19.0-p0.85.0.json');
const METADATA = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

/** A JSON Schema, or a part of one. */
interface Schema {
  [key: string]: unknown;
}

interface Schemas {
  /** Definitions by name. */
  definitions: Record<string, Schema>;
  /** Names of definitions by `apiVersion/kind`. */
  kinds: Record<string, string>;
}

/**
 * Downloads the modules (32 MB) and keeps the needed parts, unless that was done before.
 * @throws Error when the modules are unavailable
 */
export async function prepareSchemas(): Promise<void> {
  if (existsSync(FILE)) return;
  await step('Downloading the Kubernetes schemas (once)', async () => {
    const schemas = builtInSchemas(
      JSON.parse(readFileSync(join(await downloadModule(KUBERNETES), 'api/openapi-spec/swagger.json'), 'utf8')) as {
        definitions: Record<string, Schema>;
      },
    );
    for (const [module, files] of Object.entries(CRDS)) {
      const folder = await downloadModule(module);
      for (const file of files) addCrd(schemas, parse(readFileSync(join(folder, file), 'utf8')) as Crd);
    }
    mkdirSync(CACHE, { recursive: true });
    writeFileSync(FILE, JSON.stringify(schemas));
  });
}

/** Returns a function that lists the faults of a manifest. */
export function openSchemas(): (manifest: Manifest) => string[] {
  const { definitions, kinds } = JSON.parse(readFileSync(FILE, 'utf8')) as Schemas;
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  ajv.addKeyword({ keyword: 'x-kubernetes-list-map-keys', type: 'array', validate: hasKeysOnce });
  ajv.addSchema({ $id: 'kubernetes', definitions });
  const compiled = new Map<string, ValidateFunction>();
  return (manifest) => {
    const kind = `${manifest.apiVersion}/${manifest.kind}`;
    const name = kinds[kind];
    if (name === undefined) return [`${kind} is no kind that there is a schema for`];
    const validate = compiled.get(name) ?? ajv.compile({ $ref: `kubernetes#/definitions/${name}` });
    compiled.set(name, validate);
    validate(manifest);
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) =>
        `${kind} ${manifest.metadata.name}${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  };
}

/** Container ports may omit their protocol; it is TCP then. */
function hasKeysOnce(keys: string[], list: Record<string, unknown>[]): boolean {
  const seen = list.map((entry) =>
    JSON.stringify(keys.map((key) => entry[key] ?? (key === 'protocol' ? 'TCP' : null))),
  );
  return new Set(seen).size === seen.length;
}

/** The built-in kinds and all that they refer to. */
function builtInSchemas({ definitions }: { definitions: Record<string, Schema> }): Schemas {
  const schemas: Schemas = { definitions: {}, kinds: {} };
  for (const [name, schema] of Object.entries(definitions)) {
    for (const { group, version, kind } of (schema['x-kubernetes-group-version-kind'] ?? []) as {
      group: string;
      version: string;
      kind: string;
    }[]) {
      const key = [group, version, kind].filter((part) => part !== '').join('/');
      if (BUILT_IN_KINDS.includes(key)) schemas.kinds[key] = name;
    }
  }
  const wanted = [METADATA, ...Object.values(schemas.kinds)];
  for (const name of wanted) {
    if (schemas.definitions[name] !== undefined) continue;
    const schema = strict(definitions[name] as Schema);
    schemas.definitions[name] = schema;
    wanted.push(
      ...[...JSON.stringify(schema).matchAll(/"#\/definitions\/([^"]+)"/g)].map(([, referred]) => referred as string),
    );
  }
  return schemas;
}

interface Crd {
  spec: { group: string; names: { kind: string }; versions: { name: string; schema: { openAPIV3Schema: Schema } }[] };
}

function addCrd({ definitions, kinds }: Schemas, { spec }: Crd): void {
  for (const { name: version, schema } of spec.versions) {
    const kind = `${spec.group}/${version}/${spec.names.kind}`;
    kinds[kind] = kind.replaceAll('/', '.');
    const { properties, ...rest } = schema.openAPIV3Schema;
    definitions[kinds[kind]] = strict({
      ...rest,
      properties: { ...(properties as Schema), metadata: { $ref: `#/definitions/${METADATA}` } },
    });
  }
}

/** The schema with closed objects, and with Kubernetes' own keywords expressed in JSON Schema's. */
function strict(schema: Schema, closed = true): Schema {
  const result: Schema = {};
  for (const [key, value] of Object.entries(schema)) {
    if (['description', 'example', 'x-kubernetes-validations'].includes(key)) continue;
    // Go's flags within an expression are invalid in JavaScript.
    if (key === 'pattern' && String(value).includes('(?i)')) continue;
    if (key === 'properties')
      result[key] = Object.fromEntries(
        Object.entries(value as Record<string, Schema>).map(([name, property]) => [name, strict(property, closed)]),
      );
    else if (key === 'items' || (key === 'additionalProperties' && typeof value === 'object'))
      result[key] = strict(value as Schema, closed);
    // A branch extends an object that was closed outside of it.
    else if (['allOf', 'anyOf', 'oneOf'].includes(key))
      result[key] = (value as Schema[]).map((branch) => strict(branch, false));
    else if (key === 'not') result[key] = strict(value as Schema, false);
    else result[key] = value;
  }
  if (result['format'] === 'int-or-string' || result['x-kubernetes-int-or-string'] === true)
    result['type'] = ['integer', 'string'];
  if (result['nullable'] === true && typeof result['type'] === 'string') result['type'] = [result['type'], 'null'];
  const open = !closed || 'additionalProperties' in result || result['x-kubernetes-preserve-unknown-fields'] === true;
  if ('properties' in result && !open) result['additionalProperties'] = false;
  return result;
}
