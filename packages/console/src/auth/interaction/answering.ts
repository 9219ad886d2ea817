// What follows an answer to a request: the page goes where the service says, or tells that the request is finished.
import { isCode } from '../client.ts';
import { useWork, type Work } from '../work.ts';

/** How a request ends on the page itself. `left`: the browser has handed over to a program. */
export type End = 'finished' | 'left';

/** Longer than a browser takes to leave the page, where it leaves it. */
const LEAVING_MS = 3_000;

/** Goes there, without a way back to this page. Resolves only where the address belongs to a program of the device. */
export async function follow(address: string): Promise<void> {
  location.replace(address);
  const isPage = /^https?:$/.test(new URL(address, location.href).protocol);
  await new Promise((resolve) => {
    if (!isPage) setTimeout(resolve, LEAVING_MS);
  });
}

/** Sends an answer and follows it. `onEnd` is called where the page stays. */
export function useAnswer(send: () => Promise<string>, onEnd: (end: End) => void): Work {
  return useWork(async () => {
    try {
      await follow(await send());
      onEnd('left');
    } catch (error) {
      if (isCode(error, 'interaction_not_found')) return onEnd('finished');
      if (!isCode(error, 'browser_session_required')) throw error;
      // The page asks anew what is to do: to sign in.
      location.reload();
      await new Promise(() => {});
    }
  });
}
