import { z } from 'zod';
import { uuid } from '../http/validate.ts';
import { answers, endpointList, requestList } from './answer-schemas.ts';
import {
  alias,
  batchDeleteBody,
  createEndpointBody,
  endpointPageQuery,
  pageQuery,
  verifySignatureBody,
  verifyStoredBody,
} from './schemas.ts';

/* GET /openapi.json: made from the schemas that validate requests and from those of the answers. */

type AnswerName = keyof typeof answers;

interface Operation {
  path: string;
  method: 'get' | 'post' | 'delete';
  summary: string;
  guarded: boolean;
  body?: { schema: z.ZodType; required: boolean; example: unknown };
  query?: z.ZodObject;
  /** By status: the name of a schema, a schema, or a media type. */
  answers: Record<number, AnswerName | z.ZodType | 'application/octet-stream' | 'application/json'>;
}

const guardedErrors = { 401: 'Error', 403: 'Error', 429: 'Error', 503: 'Error' } as const;
const bodyErrors = { 400: 'Error', 413: 'Error', 415: 'Error' } as const;

/** Parameters in paths; a value that does not match is answered like an unknown one, with 404. */
const PATH_PARAMETERS: Record<string, z.ZodType> = { id: uuid, key: z.union([uuid, alias]) };

/** Every route, in the order of the document; `/h` stands for all methods. */
export const OPERATIONS: Operation[] = [
  ...(['get', 'post'] as const).map((method): Operation => ({
    path: '/h/{key}',
    method,
    summary: 'Capture a request. Any method, below /h/{key}/ too; `key` is the id or the alias of an endpoint',
    guarded: false,
    answers: { 200: 'Receipt', 404: 'Error', 410: 'Error', 413: 'TooLarge', 429: 'OverQuota', 503: 'Error' },
  })),
  {
    path: '/api/verify-signature',
    method: 'post',
    summary: 'Check a webhook signature',
    guarded: false,
    body: {
      schema: verifySignatureBody,
      required: true,
      example: {
        provider: 'github',
        payload: 'Hello, World!',
        signature: 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
        secret: "It's a Secret to Everybody",
      },
    },
    answers: { 200: 'Verification', ...bodyErrors, 429: 'Error' },
  },
  {
    path: '/api/endpoints',
    method: 'post',
    summary: 'Create an endpoint',
    guarded: true,
    body: { schema: createEndpointBody, required: false, example: { permanent: true, alias: 'billing-events' } },
    answers: { 201: 'EndpointCreated', ...bodyErrors, 409: 'Error', ...guardedErrors },
  },
  {
    path: '/api/endpoints',
    method: 'get',
    summary: 'List own endpoints that have not expired, newest first',
    guarded: true,
    query: endpointPageQuery,
    answers: { 200: endpointList, 400: 'Error', ...guardedErrors },
  },
  {
    path: '/api/endpoints/{id}',
    method: 'get',
    summary: 'One endpoint',
    guarded: true,
    answers: { 200: 'Endpoint', 404: 'Error', ...guardedErrors },
  },
  {
    path: '/api/endpoints/{id}',
    method: 'delete',
    summary: 'Delete an endpoint and its entries',
    guarded: true,
    answers: { 200: 'Success', 404: 'Error', ...guardedErrors },
  },
  {
    path: '/api/endpoints/{id}/requests',
    method: 'get',
    summary: 'List the entries of an endpoint, newest first',
    guarded: true,
    query: pageQuery,
    answers: { 200: requestList, 400: 'Error', 404: 'Error', ...guardedErrors },
  },
  {
    path: '/api/requests/{id}',
    method: 'get',
    summary: 'One entry',
    guarded: true,
    answers: { 200: 'LogEntry', 404: 'Error', ...guardedErrors },
  },
  {
    path: '/api/requests/{id}/body',
    method: 'get',
    summary: 'The body of an entry, to the byte',
    guarded: true,
    answers: { 200: 'application/octet-stream', 404: 'Error', ...guardedErrors },
  },
  {
    path: '/api/requests/{id}/verify',
    method: 'post',
    summary: 'Check the signature of an entry',
    guarded: true,
    body: { schema: verifyStoredBody, required: true, example: { secret: 'whsec_…' } },
    answers: { 200: 'Verification', ...bodyErrors, 404: 'Error', ...guardedErrors },
  },
  {
    path: '/api/requests/{id}',
    method: 'delete',
    summary: 'Delete an entry',
    guarded: true,
    answers: { 200: 'Success', 404: 'Error', ...guardedErrors },
  },
  {
    path: '/api/requests',
    method: 'delete',
    summary: 'Delete entries',
    guarded: true,
    body: { schema: batchDeleteBody, required: true, example: { ids: ['01a1fb17-cc70-7041-8b23-f2526fcd0bab'] } },
    answers: { 200: 'Deleted', ...bodyErrors, ...guardedErrors },
  },
  {
    path: '/openapi.json',
    method: 'get',
    summary: 'This document',
    guarded: false,
    answers: { 200: 'application/json' },
  },
];

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
  if (answer === 'application/octet-stream' || answer === 'application/json')
    return { description, content: { [answer]: {} } };
  const schema = typeof answer === 'string' ? { $ref: `#/components/schemas/${answer}` } : jsonSchema(answer, 'output');
  return { description, content: { 'application/json': { schema } } };
}

const DESCRIPTIONS: Record<number, string> = {
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
