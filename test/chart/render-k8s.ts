/* `npm run k8s:render`: writes the files that are generated from the chart. */
import { writeFileSync } from 'node:fs';
import { say } from '../../src/local/progress.ts';
import { generatedFiles } from './support/generated.ts';
import { findOrBuildTools } from './support/tools.ts';

const { helms, missing } = await findOrBuildTools();
const helm = helms.at(-1);
if (helm === undefined) {
  say(missing.join('\n'));
  process.exitCode = 1;
} else {
  for (const [path, text] of Object.entries(await generatedFiles(helm))) {
    writeFileSync(path, text);
    say(`wrote ${path}`);
  }
}
