// After a run that did not reach its end: what was done, what was not, what nobody knows, and the ways on from there.
import { CastellanError, type ListedUser } from '@castellan/sdk';
import { Alert, Button, Group, Modal, Stack } from '@mantine/core';
import type { ReactElement } from 'react';
import { failureOf } from '../../../data/errors.ts';
import { nameOf } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';
import { type BulkAct, type BulkResult, isReversible, namedIn } from './bulk.ts';

type Props = {
  act: BulkAct;
  result: BulkResult;
  onUndo: () => void;
  /** Reviews again, without these users and without those who are done. */
  onReview: (leftOut: readonly string[]) => void;
  onClose: () => void;
};

const MOST_NAMED = 20;

export function BulkOutcome({ act, result, onUndo, onReview, onClose }: Props): ReactElement {
  const { done, unknown, undone, refused, error } = result;
  const messages = namedIn(error instanceof CastellanError ? error.fields : [], refused);
  const named = undone.filter(({ id }) => messages.has(id));
  const isStopped = error === null;
  return (
    <Modal
      opened
      onClose={onClose}
      size="xl"
      title={t.users.bulk.acts[act]}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Stack gap="sm">
        <Alert
          color={isStopped ? 'yellow' : 'red'}
          variant="light"
          role="alert"
          title={isStopped ? later.userBulk.stopped : failureOf(error).message}
        >
          <p>{later.userBulk.refused(done.length, undone.length)}</p>
          {unknown.length > 0 && <p>{later.userBulk.unknown(unknown.length)}</p>}
          <Named users={named} messages={messages} />
        </Alert>
        <Group justify="flex-end" gap="xs">
          {isReversible(act) && done.length + unknown.length > 0 && (
            <Button variant="default" onClick={onUndo}>
              {later.userBulk.undo(done.length + unknown.length)}
            </Button>
          )}
          {named.length > 0 && (
            <Button variant="default" onClick={() => onReview(named.map(({ id }) => id))}>
              {later.userBulk.leaveOut(named.length)}
            </Button>
          )}
          {named.length === 0 && (
            <Button variant="default" onClick={() => onReview([])}>
              {later.userBulk.goOn(undone.length + unknown.length)}
            </Button>
          )}
          <Button onClick={onClose} data-autofocus>
            {t.common.actions.close}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

type NamedProps = { users: readonly ListedUser[]; messages: ReadonlyMap<string, string> };

function Named({ users, messages }: NamedProps): ReactElement | null {
  if (users.length === 0) return null;
  return (
    <ul className="reasons">
      {users.slice(0, MOST_NAMED).map((user) => (
        <li key={user.id}>
          {nameOf(user)}: {messages.get(user.id)}
        </li>
      ))}
      {users.length > MOST_NAMED && <li>{t.common.list.more(users.length - MOST_NAMED)}</li>}
    </ul>
  );
}
