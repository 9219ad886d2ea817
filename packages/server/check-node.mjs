// Ends the process with a sentence when Node is too old to run TypeScript. Imported first by whatever starts Castellan.
// It must stay plain JavaScript that Node 18 parses.
import { isNodeNewEnough, LEAST_NODE } from './node-version.mjs';

if (!isNodeNewEnough) {
  process.stderr.write(
    `Castellan needs Node ${LEAST_NODE} or later; this is ${process.versions.node}. \`npm ci\` brings a fitting one for the npm scripts: use \`npm start\` or \`npm run castellan --\`, and do not leave out optional dependencies.\n`,
  );
  process.exit(1);
}
