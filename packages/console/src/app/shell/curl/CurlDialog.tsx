// Shows a request as a curl command, to be copied.
import { Button, CopyButton, Modal } from '@mantine/core';
import type { ReactElement } from 'react';
import type { SentRequest } from '../../../common/recent-requests.ts';
import { later, t } from '../../text.ts';
import { curlOf } from './command.ts';

type Props = { request: SentRequest; onClose: () => void };

export function CurlDialog({ request, onClose }: Props): ReactElement {
  const command = curlOf(request);
  return (
    <Modal
      opened
      onClose={onClose}
      title={later.curl.copy}
      size="lg"
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <p>{later.curl.text}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it */}
      <pre className="curl-command" dir="ltr" tabIndex={0}>
        {command}
      </pre>
      <CopyButton value={command}>
        {({ copied, copy }) => (
          <Button onClick={copy} data-autofocus>
            {copied ? t.common.actions.copied : t.common.actions.copy}
          </Button>
        )}
      </CopyButton>
    </Modal>
  );
}
