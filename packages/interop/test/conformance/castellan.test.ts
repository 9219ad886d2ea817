// The conformance modules against Castellan.
import { after, describe } from 'node:test';
import { startCastellan } from '../providers/castellan.ts';
import { profiles, startInbox, testModules } from './suite.ts';
import { warningsOfCastellan } from './warnings.ts';

const received: string[] = [];
const inbox = await startInbox({ after }, received);
const provider = await startCastellan({ after }, { backchannelUrl: inbox.url });

for (const [profile, modules] of Object.entries(profiles(received)))
  describe(profile, () => testModules(provider, modules, warningsOfCastellan));
