import { z } from 'zod';
import { uuid } from '../http/validate.ts';
import { answers } from './answer-schemas.ts';
import type { MediaType, Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';
import { alias } from './schemas.ts';

/* GET /openapi.json: made from the schemas that validate requests and from those of the answers. */

/** Parameters in paths; a value that does not match is answered like an unknown one, with 404. */
const PATH_PARAMETERS: Record<string, z.ZodType> = { id: uuid, key: z.union([uuid, alias]) };

export function openApiDocument(baseUrl: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of OPERATIONS) {
    (paths[operation.path] ??= {})[operation.method] = describeOperation(operation);
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Hookbay', version: '1', description: 'Webhook capture and inspection' },
    servers: [{ url: baseUrl }],
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      schemas: Object.fromEntries(
        Object.entries(answers).map(([name, schema]) => [name, jsonSchema(schema, 'output')]),
      ),
    },
    paths,
  };
}

function describeOperation({ path, method, summary, guarded, body, query, answers: results }: Operation): object {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    return { name, in: 'path', required: true, schema: jsonSchema(PATH_PARAMETERS[name] as z.ZodType, 'input') };
  });
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, schema]) => {
    // Described as numbers, which their texts are parsed to.
    return { name, in: 'query', schema: jsonSchema(schema as z.ZodType, 'output') };
  });
  return {
    operationId: `${method}${path.replaceAll(/[^a-z]+(\w?)/gi, (_all, letter: string) => letter.toUpperCase())}`,
    summary,
    ...(guarded && { security: [{ bearer: [] }] }),
    ...(inPath.length + inQuery.length > 0 && { parameters: [...inPath, ...inQuery] }),
    ...(body && {
      requestBody: {
        required: body.required,
        content: { 'application/json': { schema: jsonSchema(body.schema, 'input'), example: body.example } },
      },
    }),
    responses: Object.fromEntries(
      Object.entries(results).map(([status, answer]) => [status, describeAnswer(Number(status), answer)]),
    ),
  };
}

function describeAnswer(status: number, answer: Operation['answers'][number]): object {
  const description = DESCRIPTIONS[status] ?? 'Done';
  if (answer === 'nothing') return { description };
  if (isMediaType(answer)) return { description, content: { [answer]: {} } };
  const schema = typeof answer === 'string' ? { $ref: `#/components/schemas/${answer}` } : jsonSchema(answer, 'output');
  return { description, content: { 'application/json': { schema } } };
}

function isMediaType(answer: Operation['answers'][number]): answer is MediaType {
  return typeof answer === 'string' && answer.includes('/');
}

const DESCRIPTIONS: Record<number, string> = {
  204: 'Nothing came in time',
  400: 'The input is wrong; `error` names the field',
  401: 'No valid token',
  403: 'Not in the plan, or the plan is not known',
  404: 'Not found, or it belongs to another user',
  409: 'The alias is taken',
  410: 'The endpoint has expired',
  413: 'Too large',
  415: 'Not JSON',
  429: 'Over a limit; see Retry-After',
  503: 'Nothing was done; see Retry-After',
};

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}
