import { expect, test } from 'vitest';
import {
  EMPTY_FORM,
  fieldOf,
  formOf,
  inputOf,
  responseInWords,
  sameForm,
} from '../../../src/page/model/response-form.ts';

const RECORD = {
  status: 429,
  headers: { 'Retry-After': '3' },
  body: 'añb',
  bodyEncoding: 'utf8' as const,
  delayMs: 1_500,
};

test('a response comes back from its form as it was', () => {
  expect(inputOf(formOf(RECORD))).toEqual(RECORD);
});

test('rows that are empty are left out, and a name that is there twice is said', () => {
  const row = (key: number, name: string, value = ''): { key: number; name: string; value: string } => ({
    key,
    name,
    value,
  });
  expect(inputOf({ ...EMPTY_FORM, headers: [row(0, ''), row(1, ' X-A ', 'b')] })).toMatchObject({
    headers: { 'X-A': 'b' },
  });
  expect(() => inputOf({ ...EMPTY_FORM, headers: [row(0, 'X-A', '1'), row(1, 'x-a', '2')] })).toThrow(
    /^headers: "x-a"/,
  );
});

test('what is no number is left to the API', () => {
  expect(inputOf({ ...EMPTY_FORM, status: '', delayMs: '1s' })).toMatchObject({ status: null, delayMs: null });
});

test('an error belongs to the field that it names', () => {
  expect(fieldOf('status: Too small: expected number to be >=200')).toBe('status');
  expect(fieldOf('headers.X-A: Invalid input')).toBe('headers');
  expect(fieldOf('bodyEncoding: Invalid option')).toBe('body');
  for (const error of ['constructor: x', 'This installation sends no redirects', ''])
    expect(fieldOf(error)).toBeUndefined();
});

test('is said in words', () => {
  expect(responseInWords(RECORD)).toBe('status 429, 1 header, a body of 4 bytes, after 1500 ms');
  expect(responseInWords({ ...RECORD, headers: {}, body: 'AA==', bodyEncoding: 'base64', delayMs: 0 })).toBe(
    'status 429, 0 headers, a body of 1 byte',
  );
});

test('two forms are the same that would set the same; empty rows say nothing', () => {
  const form = formOf(RECORD);
  const empty = { key: 7, name: '', value: '' };
  expect(sameForm({ ...form, headers: [empty, ...form.headers] }, form)).toBe(true);
  expect(sameForm({ ...form, headers: [{ ...empty, value: 'x' }, ...form.headers] }, form)).toBe(false);
  expect(sameForm({ ...form, body: '' }, form)).toBe(false);
});
