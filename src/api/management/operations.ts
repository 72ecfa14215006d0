import { endpointList, requestList } from './answer-schemas.ts';
import { CUSTOM_RESPONSE_OPERATIONS } from './custom-response-operations.ts';
import { FOLLOW_OPERATIONS } from './follow-operations.ts';
import { SHARE_OPERATIONS } from './share-operations.ts';
import { EXPORT_OPERATIONS } from './export-operations.ts';
import { LISTEN_OPERATION } from './listen-file.ts';
import { bodyErrors, guardedErrors, type Operation } from './operation.ts';
import {
  activityQuery,
  batchDeleteBody,
  createEndpointBody,
  endpointPageQuery,
  entryQuery,
  pageQuery,
  verifySignatureBody,
  verifyStoredBody,
} from './schemas.ts';

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
  ...FOLLOW_OPERATIONS,
  {
    path: '/api/endpoints/{id}/activity',
    method: 'get',
    summary: 'Count the entries of an endpoint by the minute of their arrival',
    guarded: true,
    query: activityQuery,
    answers: { 200: 'Activity', 400: 'Error', 404: 'Error', ...guardedErrors },
  },
  {
    path: '/api/requests/{id}',
    method: 'get',
    summary: 'One entry',
    guarded: true,
    query: entryQuery,
    answers: { 200: 'LogEntry', 400: 'Error', 404: 'Error', ...guardedErrors },
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
  ...CUSTOM_RESPONSE_OPERATIONS,
  ...SHARE_OPERATIONS,
  ...EXPORT_OPERATIONS,
  {
    path: '/openapi.json',
    method: 'get',
    summary: 'This document',
    guarded: false,
    answers: { 200: 'application/json' },
  },
  LISTEN_OPERATION,
];
