import type { TestProject } from 'vitest/node';
import { prepareSchemas } from './schemas.ts';
import { findOrBuildTools, type Tools } from './tools.ts';

declare module 'vitest' {
  interface ProvidedContext {
    tools: Tools;
  }
}

/** Builds and downloads the tools, once for all files. */
export async function setup(project: TestProject): Promise<void> {
  const tools = await findOrBuildTools();
  await prepareSchemas().catch(
    (error: unknown) => void tools.missing.push(`Kubernetes schemas: ${(error as Error).message}`),
  );
  project.provide('tools', tools);
}
