/* The generator's process: takes loads as messages, one at a time, and answers with their results. */
import { runLoad, type LoadOptions } from './load.ts';

process.on('disconnect', () => process.exit());
process.on('message', (options: LoadOptions) => {
  runLoad(options).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
