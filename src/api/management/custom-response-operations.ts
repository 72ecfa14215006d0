import { customResponse, customResponseBody } from './custom-response-schemas.ts';
import { bodyErrors, guardedErrors, type Operation } from './operation.ts';

const path = '/api/endpoints/{id}/response';

export const CUSTOM_RESPONSE_OPERATIONS: Operation[] = [
  {
    path,
    method: 'put',
    summary: 'Set what an endpoint answers in place of the receipt',
    guarded: true,
    body: {
      schema: customResponseBody,
      required: true,
      example: { status: 201, headers: { 'X-Shop': 'a' }, body: '{"ok":true}', delayMs: 500 },
    },
    answers: { 200: customResponse, ...bodyErrors, 404: 'Error', ...guardedErrors },
  },
  {
    path,
    method: 'get',
    summary: 'The custom response of an endpoint; 404 where it answers with the receipt',
    guarded: true,
    answers: { 200: customResponse, 404: 'Error', ...guardedErrors },
  },
  {
    path,
    method: 'delete',
    summary: 'Let an endpoint answer with the receipt again',
    guarded: true,
    answers: { 200: 'Success', 404: 'Error', ...guardedErrors },
  },
];
