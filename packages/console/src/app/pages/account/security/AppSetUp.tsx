// Sets up an authenticator app in three steps: scan or type the secret, then confirm with a code.
// It must not store the secret, nor send it anywhere.
import type { TotpEnrolment } from '@castellan/sdk';
import { Button, CopyButton, Modal } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { lazy, type ReactElement, Suspense, useState } from 'react';
import { CodeField, isComplete } from '../../../components/forms/CodeField.tsx';
import { Form, fieldError } from '../../../components/forms/forms.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { useWrite } from '../../../data/api.ts';
import { isCode } from '../../../data/errors.ts';
import { confirmApp } from '../../../data/second-factors/own-factors.ts';
import { later, t } from '../../../text.ts';
import type { ShowCodes } from './show-codes.ts';

const QrCode = lazy(() => import('./QrCode.tsx').then((file) => ({ default: file.QrCode })));

type Props = {
  enrolment: TotpEnrolment;
  /** It is the first second factor of the account. */
  isFirst: boolean;
  isReplacing: boolean;
  /** Begins again, with another secret. */
  again: { run: () => void; isPending: boolean; error: unknown };
  onCodes: ShowCodes;
  onClose: () => void;
};

export function AppSetUp(props: Props): ReactElement {
  const { enrolment, isFirst, isReplacing, again, onCodes, onClose } = props;
  const texts = later.secondFactors.app;
  const [code, setCode] = useState('');
  const [isShort, setShort] = useState(false);
  const confirm = useWrite(confirmApp, ({ recovery_codes: codes }) => {
    onClose();
    if (codes) onCodes(codes);
    else notifyDone(texts.done);
  });
  const isOver = isCode(confirm.error, 'enrolment_expired');
  const submit = (): void => {
    setShort(!isOver && !isComplete('totp', code));
    if (isOver) again.run();
    else if (isComplete('totp', code)) confirm.run(code);
  };
  return (
    <Modal
      opened
      onClose={onClose}
      closeOnClickOutside={false}
      title={isReplacing ? texts.replaceTitle : texts.setUpTitle}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={submit}
        isPending={confirm.isPending || again.isPending}
        error={again.error ?? confirm.error}
        fields={['code', 'totp']}
        submitLabel={isOver ? texts.startAgain : texts.confirm}
        onCancel={onClose}
        isDisabled={code === '' && !isOver}
      >
        {isReplacing && <p>{texts.replaceText}</p>}
        <ol className="set-up">
          <Secret enrolment={enrolment} />
          <li>
            <CodeField
              kind="totp"
              label={texts.enter}
              value={code}
              error={
                isShort
                  ? later.secondFactors.stepUp.sixDigits
                  : (fieldError(confirm.error, 'code') ?? fieldError(confirm.error, 'totp'))
              }
              onChange={(value) => {
                setCode(value);
                setShort(false);
              }}
            />
          </li>
        </ol>
        {isFirst && (
          <p className="note note-accent">
            {later.secondFactors.first} {later.secondFactors.endsOthers}
          </p>
        )}
      </Form>
    </Modal>
  );
}

/** The first two steps. On a phone, the app is on the same device. */
function Secret({ enrolment: { secret, uri } }: { enrolment: TotpEnrolment }): ReactElement {
  const texts = later.secondFactors.app;
  const isTouch = useMediaQuery('(pointer: coarse)') ?? false;
  return (
    <>
      <li>
        <span className="set-up-label" tabIndex={-1} data-autofocus>
          {texts.scan}
        </span>
        <div className="qr">
          <Suspense>
            <QrCode text={uri} label={texts.qr} />
          </Suspense>
        </div>
        {isTouch && (
          <Button component="a" href={uri} variant="default" size="xs">
            {texts.open}
          </Button>
        )}
      </li>
      <li>
        <span className="set-up-label">{texts.type}</span>
        <div className="set-up-secret">
          <code className="mono">{secret.match(/.{1,4}/g)?.join(' ')}</code>
          <CopyButton value={secret}>
            {({ copied, copy }) => (
              <Button variant="default" size="xs" onClick={copy}>
                {copied ? t.common.actions.copied : t.common.actions.copy}
              </Button>
            )}
          </CopyButton>
        </div>
      </li>
    </>
  );
}
