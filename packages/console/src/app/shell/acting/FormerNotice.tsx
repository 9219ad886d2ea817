// Tells people who loaded the page anew that they no longer act as another user.
import { useEffect } from 'react';
import { notifyNews } from '../../components/page/notify.tsx';
import { later } from '../../text.ts';

export function FormerNotice({ name }: { name: string }): null {
  useEffect(() => notifyNews('acting', later.acting.former(name)), [name]);
  return null;
}
