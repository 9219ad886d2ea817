// The one test file that `node --test` of an old Node finds by itself: it says that this Node cannot run the others.
import './check-node.mjs';
