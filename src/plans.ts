import { z } from 'zod';

/** The largest body that any plan may allow, in bytes: one capture is one queue job and one INSERT. */
export const HARD_MAX_REQUEST_SIZE = 32 * 1024 * 1024;

const count = z.int().min(0).nullable();

const planSettings = z.strictObject({
  /** Largest request body in bytes; null = HARD_MAX_REQUEST_SIZE. */
  maxRequestSize: z.int().min(1).max(HARD_MAX_REQUEST_SIZE).nullable(),
  /** Captures a user may receive per UTC day over all endpoints; null = unlimited. */
  dailyRequests: count,
  /** Endpoints a user may have at a time that have not expired; null = unlimited. */
  endpoints: count,
  /** Permanent endpoints a user may have at a time; null = unlimited. */
  permanentEndpoints: count,
  customAlias: z.boolean(),
  /** Days until an entry is removed; null = kept until deleted. */
  retentionDays: z.int().min(1).max(36_500).nullable(),
  /** Lifetime of a time-limited endpoint in hours, fixed at its creation. */
  endpointTtlHours: z.int().min(1).max(876_000),
});

export type Plan = { readonly name: string } & Readonly<z.infer<typeof planSettings>>;
export type Plans = ReadonlyMap<string, Plan>;

const MIB = 1024 * 1024;
const BUILT_IN: Record<string, Omit<Plan, 'name'>> = {
  free: {
    maxRequestSize: MIB,
    dailyRequests: 10_000,
    endpoints: 1_000,
    permanentEndpoints: 3,
    customAlias: false,
    retentionDays: 7,
    endpointTtlHours: 168,
  },
  pro: {
    maxRequestSize: 10 * MIB,
    dailyRequests: 250_000,
    endpoints: 10_000,
    permanentEndpoints: 50,
    customAlias: true,
    retentionDays: 30,
    endpointTtlHours: 168,
  },
  enterprise: {
    maxRequestSize: 25 * MIB,
    dailyRequests: 10_000_000,
    endpoints: 100_000,
    permanentEndpoints: 1_000,
    customAlias: true,
    retentionDays: 90,
    endpointTtlHours: 168,
  },
};

const overrides = z.record(z.string().regex(/^[A-Za-z0-9_-]{1,64}$/), planSettings.partial());

/**
 * The plans of this installation: the built-in ones, overridden by `PLANS` field by field; a plan of another name
 * starts from `free`.
 * @param json value of `PLANS`: `{"<plan>": {"<setting>": value}}`, or undefined for the built-in plans
 * @throws Error whose message describes the fault of the JSON
 */
export function parsePlans(json: string | undefined): Plans {
  const parsed = overrides.safeParse(parseJson(json ?? '{}'));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new Error(`${issue?.path.join('.') || 'value'}: ${issue?.message}`);
  }
  const names = new Set([...Object.keys(BUILT_IN), ...Object.keys(parsed.data)]);
  const plans = new Map<string, Plan>();
  for (const name of names) {
    const base = (Object.hasOwn(BUILT_IN, name) ? BUILT_IN[name] : undefined) ?? BUILT_IN['free'];
    plans.set(name, planOf(name, { ...base, ...parsed.data[name] }));
  }
  return plans;
}

export function maxRequestSize(plan: Plan): number {
  return plan.maxRequestSize ?? HARD_MAX_REQUEST_SIZE;
}

export function largestBody(plans: Plans): number {
  return Math.max(...[...plans.values()].map(maxRequestSize));
}

function planOf(name: string, settings: unknown): Plan {
  return { name, ...planSettings.parse(settings) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('is not JSON');
  }
}
