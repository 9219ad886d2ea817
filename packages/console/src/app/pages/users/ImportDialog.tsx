// Imports users and role assignments from a CSV file: first what each row would do, then row by row with results.
import type { ListedUser } from '@castellan/sdk';
import { Button, Group, Modal, Stack } from '@mantine/core';
import { type ReactElement, useRef, useState } from 'react';
import { Tag } from '../../components/badges.tsx';
import { saveFile, toCsv } from '../../components/csv.ts';
import { ErrorAlert } from '../../components/states.tsx';
import { call, readAgain } from '../../data/api.ts';
import { failureOf } from '../../data/errors.ts';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { addRoles, setRoles, useListPath } from './data.ts';
import { importColumns, judgeRows, readRows, textOf, type Verdict } from './import.ts';
import { makePassword } from './password.ts';
import { Reading } from './Reading.tsx';

/** So many users are looked up at the same time. */
const LOOKUPS = 6;

type State =
  | { step: 'choose'; problem: string | null }
  | { step: 'checking' | 'running'; done: number; all: number }
  | { step: 'review'; verdicts: Verdict[] }
  | { step: 'result'; verdicts: Verdict[]; failures: ReadonlyMap<number, string> };

export function ImportDialog({ onClose }: { onClose: () => void }): ReactElement {
  const { can } = useMe();
  const path = useListPath();
  const stop = useRef(new AbortController());
  const [state, setState] = useState<State>({ step: 'choose', problem: null });
  const [error, setError] = useState<unknown>(null);
  const { signal } = stop.current;

  const check = async (file: File): Promise<void> => {
    setError(null);
    const rows = readRows(textOf(await file.arrayBuffer()));
    if (!Array.isArray(rows)) {
      setState({ step: 'choose', problem: t.users.import.problems[rows] });
      return;
    }
    try {
      const users = new Map<string, ListedUser>();
      const emails = [...new Set(rows.map(({ email }) => email).filter((one) => one !== ''))];
      for (let at = 0; at < emails.length; at += LOOKUPS) {
        setState({ step: 'checking', done: at, all: emails.length });
        const found = await Promise.all(
          emails
            .slice(at, at + LOOKUPS)
            .map((email) => call(`GET ${path}`, { query: { email, size: 1 }, signal })),
        );
        for (const user of found.flatMap(({ data }) => data.items)) users.set(user.email, user);
      }
      const roles = can('role.read') ? (await call('GET /api/v1/roles/list', { signal })).data : [];
      const ids = new Map(roles.map(({ id, name }) => [name.toLowerCase(), id]));
      setState({ step: 'review', verdicts: judgeRows(rows, users, ids) });
    } catch (failure) {
      if (signal.aborted) return;
      setError(failure);
      setState({ step: 'choose', problem: null });
    }
  };

  const run = async (verdicts: readonly Verdict[]): Promise<void> => {
    const work = verdicts.filter(({ kind }) => kind === 'create' || kind === 'assign');
    const failures = new Map<number, string>();
    for (const [index, verdict] of work.entries()) {
      if (signal.aborted) break;
      setState({ step: 'running', done: index, all: work.length });
      try {
        await carryOut(verdict, can('access.change'));
      } catch (failure) {
        const { message, reasons } = failureOf(failure);
        failures.set(verdict.row.line, [message, ...reasons].join(' '));
      }
    }
    await readAgain();
    setState({ step: 'result', verdicts: work, failures });
  };

  const close = (): void => {
    stop.current.abort();
    onClose();
  };
  return (
    <Modal
      opened
      onClose={close}
      size="xl"
      title={t.users.import.title}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Stack gap="sm">
        {error !== null && <ErrorAlert error={error} />}
        {state.step === 'choose' && <Choose problem={state.problem} onFile={(file) => void check(file)} />}
        {(state.step === 'checking' || state.step === 'running') && (
          <Reading read={state.done} expected={state.all} />
        )}
        {state.step === 'review' && (
          <Review
            verdicts={state.verdicts}
            onRun={() => void run(state.verdicts)}
            onBack={() => setState({ step: 'choose', problem: null })}
          />
        )}
        {state.step === 'result' && (
          <Result verdicts={state.verdicts} failures={state.failures} onClose={close} />
        )}
      </Stack>
    </Modal>
  );
}

/** A new user gets a password that nobody knows; they choose their own with "Forgot password". */
async function carryOut(verdict: Verdict, mayChangeAccess: boolean): Promise<void> {
  if (verdict.kind === 'create') {
    const { email, first_name, last_name } = verdict.row;
    await call('POST /api/v1/users', {
      body: {
        email,
        first_name,
        last_name,
        password: makePassword(),
        must_change_password: true,
        role_id: verdict.roleIds,
      },
    });
  }
  if (verdict.kind !== 'assign') return;
  const { user, roleIds } = verdict;
  if (mayChangeAccess) await addRoles(user.id, roleIds);
  else await setRoles(user.id, [...user.roles.map(({ id }) => id), ...roleIds]);
}

type ChooseProps = { problem: string | null; onFile: (file: File) => void };

function Choose({ problem, onFile }: ChooseProps): ReactElement {
  const template = (): void =>
    saveFile(
      'users-template.csv',
      toCsv([[...importColumns], ['ada@example.com', 'Ada', 'Lovelace', 'Editor; Auditor']]),
    );
  return (
    <>
      <p>{t.users.import.text}</p>
      <label className="file-field">
        <span>{t.users.import.file}</span>
        <input
          type="file"
          accept=".csv,text/csv"
          aria-invalid={problem !== null || undefined}
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            if (file) onFile(file);
          }}
        />
      </label>
      {problem && (
        <p role="alert" className="field-problem">
          {problem}
        </p>
      )}
      <Group>
        <Button variant="default" size="compact-md" onClick={template}>
          {t.users.import.template}
        </Button>
      </Group>
    </>
  );
}

type ReviewProps = { verdicts: readonly Verdict[]; onRun: () => void; onBack: () => void };

const tones = { create: 'good', assign: 'accent', same: 'gray', error: 'bad' } as const;

function detailOf(verdict: Verdict): string {
  if (verdict.kind === 'create') return verdict.row.roles.join(', ');
  if (verdict.kind === 'assign') return `+ ${verdict.roleNames.join(', ')}`;
  return verdict.kind === 'error' ? t.users.import.rowProblems[verdict.problem](verdict.detail) : '';
}

function Review({ verdicts, onRun, onBack }: ReviewProps): ReactElement {
  const { can } = useMe();
  const count = (kind: Verdict['kind']): number => verdicts.filter((one) => one.kind === kind).length;
  const mayAssign = can('user.update') || count('assign') === 0;
  const work = count('create') + count('assign');
  return (
    <>
      <p role="status">
        {t.users.import.summary(count('create'), count('assign'), count('same'), count('error'))}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll the table by it */}
      <section className="import-table" aria-label={t.users.import.title} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t.users.import.line}</th>
              <th scope="col">{t.users.fields.email}</th>
              <th scope="col">{t.users.import.verdict}</th>
            </tr>
          </thead>
          <tbody>
            {verdicts.map((verdict) => (
              <tr key={verdict.row.line}>
                <td>{verdict.row.line}</td>
                <td>{verdict.row.email}</td>
                <td>
                  <Tag tone={tones[verdict.kind]}>{t.users.import.kinds[verdict.kind]}</Tag>{' '}
                  {detailOf(verdict)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {!mayAssign && <p>{t.common.forbidden.reason('user.update')}</p>}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onBack}>
          {t.common.actions.back}
        </Button>
        <Button disabled={work === 0 || !mayAssign} onClick={onRun}>
          {t.users.import.run(work)}
        </Button>
      </Group>
    </>
  );
}

type ResultProps = {
  verdicts: readonly Verdict[];
  failures: ReadonlyMap<number, string>;
  onClose: () => void;
};

function Result({ verdicts, failures, onClose }: ResultProps): ReactElement {
  const failed = verdicts.filter(({ row }) => failures.has(row.line));
  const download = (): void =>
    saveFile(
      'users-failed.csv',
      toCsv([
        [...importColumns, 'error'],
        ...failed.map(({ row }) => [
          row.email,
          row.first_name,
          row.last_name,
          row.roles.join('; '),
          failures.get(row.line) ?? '',
        ]),
      ]),
    );
  return (
    <>
      <p role="status">{t.users.import.result(verdicts.length - failed.length, failed.length)}</p>
      {failed.length > 0 && (
        <ul className="reasons">
          {failed.map(({ row }) => (
            <li key={row.line}>
              {t.users.import.failedRow(row.line, row.email)} {failures.get(row.line)}
            </li>
          ))}
        </ul>
      )}
      <Group justify="flex-end" gap="xs">
        {failed.length > 0 && (
          <Button variant="default" onClick={download}>
            {t.users.import.download}
          </Button>
        )}
        <Button onClick={onClose}>{t.common.actions.close}</Button>
      </Group>
    </>
  );
}
