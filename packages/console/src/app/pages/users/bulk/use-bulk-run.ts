// Carries out an act on many users, request after request, and its undo. It can be stopped between two requests, and stops
// when the dialog is gone: then a message at the edge of the page says what was done.
import type { ListedUser } from '@castellan/sdk';
import { useEffect, useRef, useState } from 'react';
import { notifyDone, notifyFailure, notifyUndo } from '../../../components/page/notify.tsx';
import { readAgain } from '../../../data/api.ts';
import { later } from '../../../text.ts';
import { type BulkAct, type BulkResult, chunksOf, isReversible, runInChunks } from './bulk.ts';
import { chunksFor, send, undo } from './bulk-requests.ts';
import type { Selection } from './selection.ts';

type State =
  | { step: 'idle' }
  | { step: 'running' | 'undoing'; count: number; all: number; isStopping: boolean }
  | { step: 'result'; result: BulkResult };

type Options = { act: BulkAct; roleIds: readonly string[]; selection: Selection; onClose: () => void };

export function useBulkRun({ act, roleIds, selection, onClose }: Options) {
  const [state, setState] = useState<State>({ step: 'idle' });
  /** Those whom this dialog has changed, in all of its runs. */
  const [done, setDone] = useState<readonly ListedUser[]>([]);
  const stop = useRef<AbortController | null>(null);
  const isOpen = useRef(true);
  useEffect(() => {
    isOpen.current = true;
    return () => {
      isOpen.current = false;
      stop.current?.abort();
    };
  }, []);
  const isRunning = state.step === 'running' || state.step === 'undoing';
  useEffect(() => {
    if (!isRunning) return;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, [isRunning]);

  const begin = (step: 'running' | 'undoing', users: readonly ListedUser[]) => {
    stop.current = new AbortController();
    setState({ step, count: 0, all: users.length, isStopping: false });
    return {
      signal: stop.current.signal,
      onProgress: (count: number): void => setState((now) => (now.step === step ? { ...now, count } : now)),
    };
  };

  const start = async (users: readonly ListedUser[]): Promise<void> => {
    const options = begin('running', users);
    const result = await runInChunks(chunksFor(act, users), (chunk) => send(act, chunk, roleIds), options);
    void readAgain();
    const changed = [...done, ...result.done];
    if (result.undone.length + result.unknown.length === 0) {
      selection.clear();
      onClose();
      tell(later.userBulk.done[act](changed.length), { act, users: changed, roleIds });
      return;
    }
    selection.keep([...result.unknown, ...result.undone]);
    setDone(changed);
    if (isOpen.current) setState({ step: 'result', result });
    else
      tell(later.userBulk.refused(result.done.length, result.undone.length), {
        act,
        users: [...changed, ...result.unknown],
        roleIds,
      });
  };

  const takeBack = async (): Promise<void> => {
    if (state.step !== 'result' || !isReversible(act)) return;
    const users = [...done, ...state.result.unknown];
    const result = await undoAll({ act, users, roleIds }, begin('undoing', users));
    const left = [...result.unknown, ...result.undone];
    // Otherwise those whom the act did not reach stay selected.
    if (left.length > 0) selection.keep(left);
    onClose();
  };

  return {
    state,
    done,
    start: (users: readonly ListedUser[]): void => void start(users),
    stop: (): void => {
      stop.current?.abort();
      setState((now) => ('isStopping' in now ? { ...now, isStopping: true } : now));
    },
    undo: (): void => void takeBack(),
    review: (): void => setState({ step: 'idle' }),
  };
}

type Undoing = { act: BulkAct; users: readonly ListedUser[]; roleIds: readonly string[] };

function tell(message: string, undoing: Undoing): void {
  if (!isReversible(undoing.act) || undoing.users.length === 0) notifyDone(message);
  else notifyUndo(message, () => undoAll(undoing));
}

/** Takes the act back and says for how many. */
async function undoAll(
  { act, users, roleIds }: Undoing,
  options: { signal?: AbortSignal; onProgress?: (count: number) => void } = {},
): Promise<BulkResult> {
  const result = await runInChunks(
    chunksOf(users),
    async (chunk) => (isReversible(act) ? undo(act, chunk, roleIds) : undefined),
    options,
  );
  void readAgain();
  const left = result.undone.length + result.unknown.length;
  const message = later.userBulk.takenBack(result.done.length, left);
  if (result.error !== null) notifyFailure(result.error, message);
  else notifyDone(message);
  return result;
}
