// Opens the pages between an application's request and its answer: loads their texts.
import { interactionId } from '../../interaction/address.ts';
import { loadInteractionTexts } from '../../interaction/text.ts';
import { Device } from './Device.tsx';
import { Ended, Interaction } from './Interaction.tsx';
import { SignedOut } from './SignOut.tsx';

/** What these paths show where the address names no request. */
const alone = { '/device': Device, '/sign-out': SignedOut } as const;
const Finished = () => Ended({ end: 'finished' });
const hasOwn = (path: string): path is keyof typeof alone => Object.hasOwn(alone, path);

/** Returns the page at this path, when its texts are there. */
export async function interactionPage(path: string) {
  await loadInteractionTexts();
  if (interactionId() !== null) return Interaction;
  return hasOwn(path) ? alone[path] : Finished;
}
