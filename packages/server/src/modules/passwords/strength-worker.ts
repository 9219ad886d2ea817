// The worker thread of strength.ts: it loads the dictionaries and scores one password at a time.
// It must not be imported. It sends "ready" before it accepts the first request.

import { parentPort } from 'node:worker_threads';
import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common';
import type { StrengthRequest } from './strength.ts';

if (parentPort === null) throw new Error('strength-worker is a worker thread, not a program');
const port = parentPort;

const zxcvbn = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });

port.on('message', ({ password, userInputs }: StrengthRequest) => {
  port.postMessage(zxcvbn.check(password, [...userInputs]).score);
});
port.postMessage('ready');
