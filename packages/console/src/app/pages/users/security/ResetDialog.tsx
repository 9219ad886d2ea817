// Resets the second factors of a user: says what ends, and mails the recovery link or shows it once.
// It must not keep the link: it is gone when the dialog closes.
import type { FactorsReset, User, UserFactors } from '@castellan/sdk';
import { Button, Group, Modal, Radio, Stack, Textarea } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { formatMoment } from '../../../../common/format.ts';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { call, useWrite } from '../../../data/api.ts';
import { nameOf } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';
import { SecretField } from '../dialogs/PasswordFields.tsx';

type Props = { user: User; factors: UserFactors; onClose: () => void };

/** As long as the service takes. */
const MAX_REASON = 1_000;

export function ResetDialog({ user, factors, onClose }: Props): ReactElement {
  const texts = later.userSecurity.reset;
  // The page reads them again after the reset, while the dialog is open.
  const [ended] = useState(() => endedBy(factors));
  const [deliver, setDeliver] = useState<'mail' | 'show'>('mail');
  const [reason, setReason] = useState('');
  const [link, setLink] = useState<Link | null>(null);
  const write = useWrite(
    () =>
      call('POST /api/v1/users/{user_id}/factors/reset', {
        path: { user_id: user.id },
        body: { deliver, ...(reason.trim() === '' ? {} : { reason }) },
      }),
    ({ data }) => {
      if (data.recovery_url) return setLink({ url: data.recovery_url, expiresAt: data.expires_at });
      onClose();
      notifyDone(texts.mailed(nameOf(user)));
    },
  );
  if (link) return <LinkDialog link={link} onClose={onClose} />;
  return (
    <ConfirmDialog
      title={ended.isAgain ? texts.askAgain(nameOf(user)) : texts.ask(nameOf(user))}
      confirmLabel={ended.isAgain ? texts.again : texts.act}
      isDangerous={!ended.isAgain}
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <div>
        <p>{texts.ends}</p>
        <ul className="reasons">
          {ended.names.map((name) => (
            <li key={name} data-raw>
              {name}
            </li>
          ))}
          <li>{texts.others}</li>
        </ul>
      </div>
      <p>{texts.after}</p>
      <Radio.Group
        label={texts.deliver}
        value={deliver}
        onChange={(value) => setDeliver(value === 'show' ? 'show' : 'mail')}
      >
        <Stack gap={6} mt={6}>
          <Radio value="mail" label={texts.mail} description={texts.mailHelp(user.email)} />
          <Radio value="show" label={texts.show} description={texts.showHelp} />
        </Stack>
      </Radio.Group>
      <Textarea
        label={texts.reason}
        description={texts.reasonHelp}
        autosize
        minRows={2}
        maxLength={MAX_REASON}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </ConfirmDialog>
  );
}

/** What a reset ends besides sessions, trust and mailed links. `isAgain`: nothing but an earlier link. */
function endedBy({ totp, passkeys, recovery_codes: codes }: UserFactors): {
  isAgain: boolean;
  names: string[];
} {
  const { reset } = later.userSecurity;
  const names = [
    ...passkeys.map(({ name }) => name),
    ...(totp ? [later.secondFactors.app.title] : []),
    ...(codes && codes.left > 0 ? [reset.codes(codes.left)] : []),
  ];
  const isAgain = totp === null && passkeys.length === 0;
  return { isAgain, names: isAgain ? [reset.formerLink] : names };
}

type Link = { url: string; expiresAt: FactorsReset['expires_at'] };

function LinkDialog({ link, onClose }: { link: Link; onClose: () => void }): ReactElement {
  const texts = later.userSecurity.reset;
  return (
    <Modal
      opened
      onClose={onClose}
      closeOnClickOutside={false}
      title={texts.shownTitle}
      size="lg"
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Stack gap="sm">
        <SecretField label={texts.link} value={link.url} note={texts.once} />
        <p>{texts.expires(formatMoment(link.expiresAt))}</p>
        <Group justify="flex-end">
          <Button onClick={onClose}>{texts.done}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
