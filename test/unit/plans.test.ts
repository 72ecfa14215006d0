import { expect, test } from 'vitest';
import { HARD_MAX_REQUEST_SIZE, maxRequestSize, parsePlans, type Plan } from '../../src/plans.ts';

test('the built-in plans [Plans]', () => {
  const shared = { endpointTtlHours: 168 };
  expect([...parsePlans(undefined).values()]).toEqual([
    {
      name: 'free',
      maxRequestSize: 1_048_576,
      dailyRequests: 10_000,
      endpoints: 1_000,
      permanentEndpoints: 3,
      customAlias: false,
      retentionDays: 7,
      ...shared,
    },
    {
      name: 'pro',
      maxRequestSize: 10_485_760,
      dailyRequests: 250_000,
      endpoints: 10_000,
      permanentEndpoints: 50,
      customAlias: true,
      retentionDays: 30,
      ...shared,
    },
    {
      name: 'enterprise',
      maxRequestSize: 26_214_400,
      dailyRequests: 10_000_000,
      endpoints: 100_000,
      permanentEndpoints: 1_000,
      customAlias: true,
      retentionDays: 90,
      ...shared,
    },
  ]);
});

test('PLANS changes a built-in plan field by field, and starts others from free; null is unlimited', () => {
  const plans = parsePlans(
    '{"free":{"dailyRequests":5},"gold":{"dailyRequests":null,"maxRequestSize":null,"customAlias":true}}',
  );
  expect(plans.get('free')).toMatchObject({ dailyRequests: 5, maxRequestSize: 1_048_576 });
  expect(plans.get('gold')).toMatchObject({
    name: 'gold',
    dailyRequests: null,
    customAlias: true,
    permanentEndpoints: 3,
  });
  expect(maxRequestSize(plans.get('gold') as Plan)).toBe(HARD_MAX_REQUEST_SIZE);
});
