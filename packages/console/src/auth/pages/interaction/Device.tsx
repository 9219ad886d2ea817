// Takes the code that a device shows. A link can fill it in, but never sends it: the sender could have begun the request.
import { CastellanError } from '@castellan/sdk';
import { type ReactElement, useState } from 'react';
import { addressOf } from '../../../common/page-settings.ts';
import { isCode } from '../../client.ts';
import { follow } from '../../interaction/answering.ts';
import { findDevice } from '../../interaction/calls.ts';
import { asked } from '../../interaction/text.ts';
import { userCodeIn } from '../../interaction/user-code.ts';
import { Field, Form, Frame, type NoticeContent, noticeOf, STATUS_ID } from '../../parts.tsx';
import { useWork } from '../../work.ts';

const parameter = (name: string): string => new URLSearchParams(location.search).get(name) ?? '';
const given = (): string => parameter('user_code').slice(0, 20);

/** The page of the code, and where the service leads once the person has answered. */
export function Device(): ReactElement {
  const result = parameter('result');
  return result === 'allowed' || result === 'denied' ? <Answered result={result} /> : <CodeOfDevice />;
}

const Answered = ({ result }: { result: 'allowed' | 'denied' }): ReactElement => (
  <Frame title={asked.device[result]} step={result}>
    <p>{asked.device[`${result}Text`]}</p>
  </Frame>
);

function CodeOfDevice(): ReactElement {
  const [text, setText] = useState(given);
  const work = useWork(async () => {
    const code = userCodeIn(text);
    if (code === null) throw new CastellanError('malformed_code', asked.device.malformed);
    try {
      await follow(`${addressOf('/device')}?interaction=${await findDevice(code)}`);
    } catch (error) {
      if (!isCode(error, 'browser_session_required')) throw error;
      // Back here, the person sends the code again.
      const here = `${addressOf('/device')}?user_code=${code}`;
      await follow(`${addressOf('/login')}?next=${encodeURIComponent(here)}`);
    }
  });
  const notice: NoticeContent | null = isCode(work.error, 'user_code_unknown')
    ? { kind: 'error', text: asked.device.unknown }
    : noticeOf(work.error);
  return (
    <Frame title={asked.device.title} notice={notice && { ...notice, isQuiet: true }}>
      <p>{asked.device.text}</p>
      <Form work={work} submit={asked.device.submit}>
        <Field
          label={asked.device.code}
          name="user_code"
          className="code"
          autoComplete="off"
          autoCapitalize="characters"
          spellCheck={false}
          autoFocus
          required
          maxLength={20}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          aria-invalid={work.error ? true : undefined}
          aria-describedby={work.error ? STATUS_ID : undefined}
        />
      </Form>
      <p className="muted">{asked.device.warning}</p>
    </Frame>
  );
}
