// The conformance modules against Castellan.
import { after, describe } from 'node:test';
import { startCastellan } from '../providers/castellan.ts';
import { profiles, testModules } from './suite.ts';
import { warningsOfCastellan } from './warnings.ts';

const provider = await startCastellan({ after });
const all = profiles([]);

for (const profile of ['Basic', 'Config'])
  describe(profile, () => testModules(provider, all[profile] ?? [], warningsOfCastellan));
