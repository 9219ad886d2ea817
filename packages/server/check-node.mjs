// Ends the process with a sentence when Node is too old to run TypeScript. Imported first by whatever starts Castellan.
// It must stay plain JavaScript that Node 18 parses.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `Castellan needs Node 22.18 or later; this is ${process.versions.node}. \`npm ci\` brings a fitting one for the npm scripts: use \`npm start\` or \`npm run castellan --\`, and do not leave out optional dependencies.\n`,
  );
  process.exit(1);
}
