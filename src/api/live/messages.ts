import { z } from 'zod';
import { uuid } from '../http/validate.ts';

/** Message of the live event `subscribe`; `after` is a `seq`, 0 = from the start. */
export const subscribeMessage = z.strictObject({ endpointId: uuid, after: z.int().min(0).optional() });

export const unsubscribeMessage = z.strictObject({ endpointId: uuid });
