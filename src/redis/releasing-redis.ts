import { Redis } from 'ioredis';

/**
 * ioredis' client, which lets go of what a command sent once it is answered. V8 takes a function that is written where
 * it is assigned to a property for a long-lived one, and allocates it in the old generation. Each command of ioredis has
 * one, which refers to the command, so the arguments of each stayed until the next full collection.
 *
 * A command that has timed out must not be sent again: it has no arguments then. No role with time-outs does that.
 */
export class ReleasingRedis extends Redis {
  override sendCommand(...args: Parameters<Redis['sendCommand']>): unknown {
    const [command] = args;
    const answer = super.sendCommand(...args);
    // Functions that a function returns are allocated as other objects are. A `then` would hide unhandled rejections.
    const releasing =
      <T>(settle: (outcome: T) => void) =>
      (outcome: T): void => {
        settle(outcome);
        command.args = [];
      };
    command.resolve = releasing(command.resolve);
    command.reject = releasing(command.reject);
    return answer;
  }
}
