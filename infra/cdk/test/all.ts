/** All tests in one process: loading the CDK takes seconds. */
import * as fs from 'node:fs';
import * as path from 'node:path';

for (const file of fs.readdirSync(__dirname).filter((name) => name.endsWith('.test.js'))) {
  require(path.join(__dirname, file));
}
