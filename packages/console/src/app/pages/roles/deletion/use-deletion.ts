// The last step of every deletion of a role, and what follows it.
import { useMutation } from '@tanstack/react-query';
import { notifyDone } from '../../../components/page/notify.tsx';
import { readAgain } from '../../../data/api.ts';
import { isCode } from '../../../data/errors.ts';
import { t } from '../../../text.ts';

/** `isStale`: the role has another version or other holders than those that were shown. */
export function useDeletion(
  work: () => Promise<unknown>,
  name: string,
  onDeleted: () => void | Promise<void>,
) {
  const deletion = useMutation({
    mutationFn: work,
    onSuccess: async () => {
      notifyDone(t.roles.remove.deleted(name));
      await onDeleted();
      // What showed the role is unmounted by then: reading it again would be a 404.
      setTimeout(() => void readAgain());
    },
    onError: () => void readAgain(),
  });
  // Somebody else has changed the role, or given it to others: what stands in the way is read again and shown anew.
  const isStale = isCode(deletion.error, 'precondition_failed', 'role_in_use');
  return { ...deletion, isStale, shownError: isStale ? null : deletion.error };
}
