// An instance that seals all the time, as a process of its own: killed.test.ts kills it. Its environment has the settings.
// It must not end by itself.
import { createLog } from '@castellan/server/platform/logging/log';
import { startService } from '@castellan/server/service';
import { loadSettings } from '@castellan/server/settings';

const settings = loadSettings(process.env);
const log = createLog('error', { write: (line) => void process.stderr.write(line) });
const service = await startService({ settings, log, print: () => undefined });
process.send?.('ready');
for (;;) await service.deps.sealer.run();
