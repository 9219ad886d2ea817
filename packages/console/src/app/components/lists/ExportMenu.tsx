// Exports a list as CSV or NDJSON, shows how much has arrived, and can be cancelled.
import { Button, Menu } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { type ReactElement, useEffect, useRef, useState } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { saveBlob } from '../../../common/save-blob.ts';
import { readStream } from '../../data/download.ts';
import { t } from '../../text.ts';
import { notifyDone, notifyFailure } from '../page/notify.tsx';

const types = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const;
type ExportType = keyof typeof types;

type ExportOptions = {
  signal: AbortSignal;
  headers: Readonly<Record<string, string>>;
  timeoutMs: number;
};

type Props = {
  /** Without the ending. */
  fileName: string;
  start: (options: ExportOptions) => Promise<Response>;
  isDisabled?: boolean;
};

const KILOBYTE = 1_024;

export function ExportMenu({ fileName, start, isDisabled = false }: Props): ReactElement {
  const [bytes, setBytes] = useState<number | null>(null);
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);

  const run = async (type: ExportType): Promise<void> => {
    const controller = new AbortController();
    running.current = controller;
    setBytes(0);
    try {
      const response = await start({
        signal: controller.signal,
        headers: { accept: types[type] },
        timeoutMs: Number.POSITIVE_INFINITY,
      });
      saveBlob(await readStream(response, setBytes), `${fileName}.${type}`);
      notifyDone(t.audit.export.done(`${fileName}.${type}`));
    } catch (error) {
      if (!controller.signal.aborted) notifyFailure(error);
    } finally {
      setBytes(null);
    }
  };

  if (bytes !== null) {
    return (
      <span className="export-progress" role="status">
        {t.audit.export.running(formatNumber(Math.ceil(bytes / KILOBYTE)))}
        <Button variant="default" size="compact-sm" onClick={() => running.current?.abort()}>
          {t.common.actions.cancel}
        </Button>
      </span>
    );
  }
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" leftSection={<IconDownload size={16} aria-hidden />} disabled={isDisabled}>
          {t.audit.export.label}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => void run('csv')}>{t.audit.export.csv}</Menu.Item>
        <Menu.Item onClick={() => void run('ndjson')}>{t.audit.export.ndjson}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
