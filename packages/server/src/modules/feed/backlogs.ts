// What readers with old cursors have yet to read, of all of them together. It must not grow with the number of readers.
import { RING_BYTES } from './ring.ts';

export type Share = {
  /** Returns whether so many further characters may be kept. */
  takes(size: number): boolean;
  /** Gives everything back. Calls after the first do nothing. */
  end(): void;
};

/** `max`: characters of all shares together. One has at most as many as the ring. */
export function createBacklogs(max: number): { share(): Share } {
  let kept = 0;
  return {
    share() {
      let own = 0;
      return {
        takes(size) {
          if (own + size > RING_BYTES || kept + size > max) return false;
          own += size;
          kept += size;
          return true;
        },
        end() {
          kept -= own;
          own = 0;
        },
      };
    },
  };
}
