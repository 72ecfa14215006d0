import { z } from 'zod';
import { BRIEF_MAX_BODY_BYTES, EVENT_MAX_BODY_BYTES } from '../../domain/live-event.ts';
import { uuid } from '../http/validate.ts';

/** Message of the live event `subscribe`; `after` is a `seq`, 0 = from the start. */
export const subscribeMessage = z.strictObject({
  endpointId: uuid,
  after: z.int().min(0).optional(),
  bodyBytes: z
    .literal([BRIEF_MAX_BODY_BYTES, EVENT_MAX_BODY_BYTES], `must be ${BRIEF_MAX_BODY_BYTES} or ${EVENT_MAX_BODY_BYTES}`)
    .default(EVENT_MAX_BODY_BYTES),
});

export type Subscribe = z.output<typeof subscribeMessage>;

export const unsubscribeMessage = z.strictObject({ endpointId: uuid });
