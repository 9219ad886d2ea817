// The thread that holds the dictionaries and scores one password at a time for strength.ts.
// Must not be imported: it is started as a worker thread, and says "ready" before it takes the first request.

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
