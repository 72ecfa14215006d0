import { describe, expect, test } from 'vitest';
import { changeAddress, formatAddress, parseAddress, START, type Address } from '../../../src/page/model/address.ts';
import { NO_FILTER } from '../../../src/page/model/filter.ts';

const ENDPOINT = 'acc193a8-b73b-4634-9b57-1cc0db59b830';
const OTHER_ENDPOINT = 'acc193a8-b73b-4634-9b57-1cc0db59b831';
const A = '01a1fb17-cc70-7041-8b23-f2526fcd0bab';
const B = '01a1fb17-cc70-7041-8b23-f2526fcd0bac';
const COMPARED: Address = { endpoint: ENDPOINT, request: A, compare: B, filter: { ...NO_FILTER, q: 'a b' } };

describe('the address of a comparison', () => {
  test('names both entries, beside the filter', () => {
    expect(formatAddress(COMPARED)).toBe(`#/e/${ENDPOINT}/r/${A}?q=a+b&with=${B}`);
    expect(parseAddress(formatAddress(COMPARED))).toEqual(COMPARED);
  });

  test('without an open entry, or with anything but an id, there is none', () => {
    expect(parseAddress(`#/e/${ENDPOINT}?with=${B}`).compare).toBeUndefined();
    expect(parseAddress(`#/e/${ENDPOINT}/r/${A}?with=../${B}`).compare).toBeUndefined();
    expect(formatAddress({ ...COMPARED, request: undefined })).toBe(`#/e/${ENDPOINT}?q=a+b`);
    expect(parseAddress('#/').compare).toBe(START.compare);
  });

  test('ends when another entry, none, or another endpoint is opened', () => {
    expect(changeAddress(COMPARED, { request: B }).compare).toBeUndefined();
    expect(changeAddress(COMPARED, { request: undefined }).compare).toBeUndefined();
    expect(changeAddress(COMPARED, { endpoint: OTHER_ENDPOINT })).toEqual({ ...START, endpoint: OTHER_ENDPOINT });
    expect(changeAddress(COMPARED, { filter: NO_FILTER }).compare).toBe(B);
    expect(changeAddress(COMPARED, { request: B, compare: A })).toMatchObject({ request: B, compare: A });
  });
});
