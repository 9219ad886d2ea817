// Shows new recovery codes, once. It must not store them anywhere in the page.
import { Button, Checkbox, CopyButton, Group, Modal, Stack } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { pageSettings } from '../../../../common/page-settings.ts';
import { saveBlob } from '../../../../common/save-blob.ts';
import { LeaveGuard } from '../../../components/forms/forms.tsx';
import { useMe } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';
import './codes.css';

type Props = { codes: readonly string[]; onClose: () => void };

/** Closes only after the person has said that they have kept the codes. Leaving the page before asks. */
export function CodesDialog({ codes, onClose }: Props): ReactElement {
  const texts = later.secondFactors.codes;
  const [isKept, setKept] = useState(false);
  return (
    <Modal
      opened
      onClose={() => {
        if (isKept) onClose();
      }}
      withCloseButton={false}
      closeOnClickOutside={false}
      title={texts.shownTitle}
      classNames={{ content: 'codes-dialog' }}
    >
      <Stack gap="sm">
        <p>{texts.shownText}</p>
        <ul className="codes mono" aria-label={texts.list}>
          {codes.map((code) => (
            <li key={code} data-raw>
              {code}
            </li>
          ))}
        </ul>
        <Ways codes={codes} />
        <Checkbox
          label={texts.kept}
          checked={isKept}
          onChange={(event) => setKept(event.currentTarget.checked)}
        />
        <Group justify="flex-end">
          <Button disabled={!isKept} onClick={onClose}>
            {texts.done}
          </Button>
        </Group>
      </Stack>
      <LeaveGuard when={!isKept} title={texts.leave} text={texts.leaveText} />
    </Modal>
  );
}

/** To keep them. */
function Ways({ codes }: { codes: readonly string[] }): ReactElement {
  const texts = later.secondFactors.codes;
  const { user } = useMe();
  const list = codes.join('\n');
  const file = `${texts.file(pageSettings.serviceName, user.email)}\n${list}\n`;
  return (
    <Group gap="xs" className="codes-ways">
      <CopyButton value={list}>
        {({ copied, copy }) => (
          <Button variant="default" size="xs" onClick={copy} data-autofocus>
            {copied ? t.common.actions.copied : t.common.actions.copy}
          </Button>
        )}
      </CopyButton>
      <Button
        variant="default"
        size="xs"
        onClick={() => saveBlob(new Blob([file], { type: 'text/plain' }), 'recovery-codes.txt')}
      >
        {texts.download}
      </Button>
      <Button variant="default" size="xs" onClick={() => print()}>
        {texts.print}
      </Button>
    </Group>
  );
}
