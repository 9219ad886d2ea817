// Asks before the sessions of a group end, and ends them one by one.
import { type ReactElement, useState } from 'react';
import { useWrite } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import { later } from '../../text.ts';
import { ConfirmDialog } from '../dialogs/ConfirmDialog.tsx';
import { notifyDone } from '../page/notify.tsx';
import type { ListedSession } from './groups.ts';
import { sessionName } from './names.ts';

type Props = {
  sessions: readonly ListedSession[];
  end: (id: string) => Promise<unknown>;
  /** What ending them means. */
  text: string;
  /** More sessions may belong to the group than are listed. */
  isPart: boolean;
  onClose: () => void;
};

/** After a failure, a second confirmation goes on: what has ended by then counts as ended. */
export function EndGroupDialog(props: Props): ReactElement {
  const { end, text, isPart, onClose } = props;
  const texts = later.sessionGroup;
  // The list behind is read again and loses what has ended; the question stays the same.
  const [sessions] = useState(props.sessions);
  const write = useWrite(
    async () => {
      for (const { id } of sessions)
        await end(id).catch((error: unknown) => {
          if (!isCode(error, 'session_not_found')) throw error;
        });
    },
    () => {
      onClose();
      notifyDone(texts.ended(sessions.length));
    },
  );
  return (
    <ConfirmDialog
      title={texts.ask(sessions.length, sessions[0] ? sessionName(sessions[0]) : '')}
      confirmLabel={texts.end(sessions.length)}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{text}</p>
      {isPart && <p>{texts.onlyListed}</p>}
    </ConfirmDialog>
  );
}
