import { z } from 'zod';
import { badRequest, printable } from './errors.ts';

/** A UUID of any version; in a path a malformed one is answered like an unknown one, with 404. */
export const uuid = z.guid('must be a UUID');

/** @throws HttpError 400 that names the field and its fault */
export function validate<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const field = printable(issue?.path.join('.') ?? '');
  throw badRequest(field === '' ? `The message is not right: ${messageOf(issue)}` : `${field}: ${messageOf(issue)}`);
}

/** Zod quotes all unknown names in full. */
function messageOf(issue: z.core.$ZodIssue | undefined): string | undefined {
  if (issue?.code !== 'unrecognized_keys') return issue?.message;
  const [first = '', ...others] = issue.keys;
  return `Unrecognized key: "${printable(first)}"${others.length === 0 ? '' : ` and ${others.length} more`}`;
}
