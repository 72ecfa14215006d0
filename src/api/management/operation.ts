import type { z } from 'zod';
import type { answers } from './answer-schemas.ts';

export type AnswerName = keyof typeof answers;

/** Of answers that no schema describes. */
export type MediaType =
  | 'application/octet-stream'
  | 'application/json'
  | 'application/x-ndjson'
  | 'message/http'
  | 'text/csv'
  | 'text/event-stream'
  | 'text/javascript'
  | 'text/html'
  | 'text/plain';

/** A route of the interface, as `/openapi.json` describes it. */
export interface Operation {
  path: string;
  method: 'get' | 'post' | 'put' | 'delete';
  summary: string;
  guarded: boolean;
  body?: { schema: z.ZodType; required: boolean; example: unknown };
  query?: z.ZodObject;
  /** By status: the name of a schema, a schema, media types, or `nothing` for an answer without a body. */
  answers: Record<number, AnswerName | z.ZodType | MediaType | MediaType[] | 'nothing'>;
}

/** Answers that every guarded route may give, and those of a route that takes a body. */
export const guardedErrors = { 401: 'Error', 403: 'Error', 429: 'Error', 503: 'Error' } as const;
export const bodyErrors = { 400: 'Error', 413: 'Error', 415: 'Error' } as const;
