import { z } from 'zod';
import { badRequest, shown } from './errors.ts';

/** A UUID of any version; a malformed one in a path is 404 like one that is unknown. */
export const uuid = z.guid('must be a UUID');

/**
 * Checks input against a schema.
 *
 * @throws HttpError 400 that names the field and what is wrong with it
 */
export function validate<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const field = issue?.path.join('.') ?? '';
  throw badRequest(field === '' ? `The message is not right: ${messageOf(issue)}` : `${field}: ${messageOf(issue)}`);
}

/** Zod quotes unknown names as they are, all of them. */
function messageOf(issue: z.core.$ZodIssue | undefined): string | undefined {
  if (issue?.code !== 'unrecognized_keys') return issue?.message;
  const [first = '', ...others] = issue.keys;
  return `Unrecognized key: "${shown(first)}"${others.length === 0 ? '' : ` and ${others.length} more`}`;
}
