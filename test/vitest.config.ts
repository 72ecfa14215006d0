import { defineConfig } from 'vitest/config';

const shared = {
  globalSetup: 'test/support/global-setup.ts',
  pool: 'forks',
  // Long time limits: a slow machine is no failure. Tests wait for conditions, not for time.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { requireAssertions: true, poll: { timeout: 60_000 } },
} as const;

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...shared,
          name: 'fast',
          include: ['test/{unit,integration,page/unit}/**/*.test.ts'],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      // Helm's renders need no servers, but tools that may have to be built first.
      {
        test: {
          ...shared,
          globalSetup: 'test/chart/support/global-setup.ts',
          name: 'chart',
          include: ['test/chart/**/*.test.ts'],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      // One file at a time: each runs a fleet of processes under load, and expects answers in time.
      {
        test: {
          ...shared,
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      // The same for browsers.
      {
        test: {
          ...shared,
          name: 'page',
          include: ['test/page/**/*.test.ts'],
          exclude: ['test/page/unit/**'],
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
