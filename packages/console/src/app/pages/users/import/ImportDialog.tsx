// Imports users and role assignments from a CSV file: first what each row would do and change, then row by row with results.
import { Button, Group, Modal, Stack } from '@mantine/core';
import { type ReactElement, useEffect, useRef, useState } from 'react';
import { notifyDone, notifyUndo } from '../../../components/page/notify.tsx';
import { ErrorAlert } from '../../../components/page/states.tsx';
import { readAgain } from '../../../data/api.ts';
import { failureOf } from '../../../data/errors.ts';
import { useMe } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';
import { Reading } from '../bulk/Reading.tsx';
import { useAddRoles, useListPath } from '../data.ts';
import { ImportChoice } from './ImportChoice.tsx';
import { ImportResult } from './ImportResult.tsx';
import { ImportReview } from './ImportReview.tsx';
import { type FileProblem, MAX_BYTES, readRows, textOf, type Verdict } from './import.ts';
import { type Assignment, carryOut, type Judged, judge, takeBack } from './import-run.ts';

type State =
  | { step: 'choose'; problem: FileProblem | null }
  | { step: 'checking' | 'running'; done: number; all: number }
  | { step: 'review'; judged: Judged }
  | { step: 'result'; verdicts: Verdict[]; failures: ReadonlyMap<number, string>; undone: Verdict[] };

export function ImportDialog({ onClose }: { onClose: () => void }): ReactElement {
  const { can } = useMe();
  const path = useListPath();
  const addRoles = useAddRoles();
  const stop = useRef(new AbortController());
  const [state, setState] = useState<State>({ step: 'choose', problem: null });
  const [error, setError] = useState<unknown>(null);
  const isOpen = useRef(true);
  useEffect(() => {
    isOpen.current = true;
    return () => {
      isOpen.current = false;
      stop.current.abort();
    };
  }, []);

  const check = async (file: File): Promise<void> => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    setError(null);
    const rows: ReturnType<typeof readRows> =
      file.size > MAX_BYTES ? { problem: 'size' } : readRows(textOf(await file.arrayBuffer()));
    if (!Array.isArray(rows)) {
      setState({ step: 'choose', problem: rows });
      return;
    }
    try {
      const judged = await judge(rows, {
        path,
        mayReadRoles: can('role.read'),
        mayReadAttributes: can('user_attribute.read'),
        signal,
        onProgress: (done, all) => setState({ step: 'checking', done, all }),
      });
      setState({ step: 'review', judged });
    } catch (failure) {
      if (signal.aborted) return;
      setError(failure);
      setState({ step: 'choose', problem: null });
    }
  };

  const run = async (verdicts: readonly Verdict[]): Promise<void> => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    const work = verdicts.filter(({ kind }) => kind === 'create' || kind === 'assign');
    const failures = new Map<number, string>();
    let reached = 0;
    for (const verdict of work) {
      if (signal.aborted) break;
      setState({ step: 'running', done: reached, all: work.length });
      try {
        await carryOut(verdict, addRoles);
      } catch (failure) {
        const { message, reasons } = failureOf(failure);
        failures.set(verdict.row.line, [message, ...reasons].join(' '));
      }
      reached += 1;
    }
    await readAgain();
    const [done, left] = [reached - failures.size, work.length - reached];
    const tried = work.slice(0, reached);
    if (!isOpen.current) {
      notifyDone(later.userImport.left(done, failures.size + left));
      offerUndo(tried, failures);
    }
    setState({ step: 'result', verdicts: tried, failures, undone: work.slice(reached) });
  };

  /** New users stay: deleting them is no undo. */
  const offerUndo = (tried: readonly Verdict[], failures: ReadonlyMap<number, string>): void => {
    const assigned = tried.filter(
      (verdict): verdict is Assignment => verdict.kind === 'assign' && !failures.has(verdict.row.line),
    );
    if (assigned.length === 0) return;
    notifyUndo(later.userImport.assigned(assigned.length), async () => {
      await takeBack(assigned, can('access.change')).finally(readAgain);
      notifyDone(later.userImport.takenBack(assigned.length));
    });
  };
  const leave = (): void => {
    onClose();
    if (state.step === 'result') offerUndo(state.verdicts, state.failures);
  };

  const isRunning = state.step === 'running';
  return (
    <Modal
      opened
      onClose={() => {
        stop.current.abort();
        // A run ends after the row under way, and then shows what was done.
        if (!isRunning) leave();
      }}
      closeOnClickOutside={!isRunning}
      size="xl"
      title={later.userImport.title}
      closeButtonProps={{ 'aria-label': isRunning ? t.users.bulk.stop : t.common.actions.close }}
    >
      <Stack gap="sm">
        {error !== null && <ErrorAlert error={error} />}
        {state.step === 'choose' && (
          <ImportChoice problem={state.problem} onFile={(file) => void check(file)} />
        )}
        {(state.step === 'checking' || isRunning) && <Reading read={state.done} expected={state.all} />}
        {isRunning && (
          <Group justify="flex-end">
            <Button variant="default" onClick={() => stop.current.abort()}>
              {t.users.bulk.stop}
            </Button>
          </Group>
        )}
        {state.step === 'review' && (
          <ImportReview
            judged={state.judged}
            onRun={() => void run(state.judged.verdicts)}
            onBack={() => setState({ step: 'choose', problem: null })}
          />
        )}
        {state.step === 'result' && <ImportResult {...state} onClose={leave} />}
      </Stack>
    </Modal>
  );
}
