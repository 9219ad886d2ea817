// Asks before a passkey or a security key is removed.
import type { Passkey } from '@castellan/sdk';
import type { ReactElement } from 'react';
import { ConfirmDialog } from '../../../../components/dialogs/ConfirmDialog.tsx';
import { notifyDone } from '../../../../components/page/notify.tsx';
import { useWrite } from '../../../../data/api.ts';
import { removePasskey } from '../../../../data/second-factors/own-factors.ts';
import { later, t } from '../../../../text.ts';
import { RemovalText } from '../AppFactor.tsx';

type Props = {
  passkey: Passkey;
  /** The account has no other factor. */
  isLast: boolean;
  onClose: () => void;
};

export function RemovePasskey({ passkey, isLast, onClose }: Props): ReactElement {
  const texts = later.secondFactors.passkeys;
  const write = useWrite(removePasskey, () => {
    onClose();
    notifyDone(texts.removed);
  });
  return (
    <ConfirmDialog
      title={texts.removeAsk(passkey.name)}
      confirmLabel={t.common.actions.remove}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(passkey.id)}
      onClose={onClose}
    >
      <RemovalText isLast={isLast} />
    </ConfirmDialog>
  );
}
