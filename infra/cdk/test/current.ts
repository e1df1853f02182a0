/** Loaded before the tests, resolves the packages of the CDK to the current versions in place of the lowest ones. */
import Module from 'node:module';

type Resolve = (request: string, ...more: unknown[]) => string;

const loader = Module as unknown as { _resolveFilename: Resolve };
const resolve = loader._resolveFilename;
loader._resolveFilename = (request, ...more) => resolve(request.replace(/^(aws-cdk-lib|constructs)(?=$|\/)/, '$1-current'), ...more);
