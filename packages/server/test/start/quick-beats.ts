// `npm start` with workers that beat fast, so that the end of one that hangs takes four seconds instead of 20.
// It must differ from the service in nothing else.
import { serve } from '../../src/main.ts';

await serve(process.env, { beatMs: 1_000 });
