// Says whether this Node can run Castellan. It must stay plain JavaScript that Node 18 parses.
const [major, minor] = process.versions.node.split('.').map(Number);

/** The least Node that strips types and loads modules as Castellan needs it, for messages. */
export const LEAST_NODE = '22.18';

/** False when Node is older than that. */
export const isNodeNewEnough = major > 22 || (major === 22 && minor >= 18);
