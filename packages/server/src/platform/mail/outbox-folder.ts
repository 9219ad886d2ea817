// The folder that keeps mails where no SMTP server is set: one readable file each, for its owner only.
// It must not touch a file that it did not name itself.
import { randomBytes } from 'node:crypto';
import { access, constants, lstat, mkdir, opendir, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export type KeptMail = { to: string; from: string; subject: string; messageId: string; text: string };

// 2026-11-21T02-13-05-123Z_bob@example.com_1f2e3d4c.txt, and its name while it is being written.
const ownName = /^\.?\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_[a-z0-9@._+-]{1,64}_[0-9a-f]{8}\.txt(\.part)?$/;

const oneLine = (text: string): string => text.replace(/\p{C}+/gu, ' ');

/** `write` answers path and content once the whole file is there; names sort by time. Rejects when it cannot. */
export function createOutboxFolder(dir: string): {
  prepare(): Promise<void>;
  write(mail: KeptMail): Promise<{ path: string; content: string }>;
} {
  async function prepare(): Promise<void> {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    await access(dir, constants.W_OK | constants.X_OK);
  }
  return {
    prepare,
    async write(mail) {
      const now = new Date();
      const recipient = mail.to
        .toLowerCase()
        .replace(/[^a-z0-9@._+-]/g, '_')
        .slice(0, 64);
      const stamp = now.toISOString().replace(/[:.]/g, '-');
      const name = `${stamp}_${recipient}_${randomBytes(4).toString('hex')}.txt`;
      const headers = [
        `To: ${oneLine(mail.to)}`,
        `From: ${oneLine(mail.from)}`,
        `Subject: ${oneLine(mail.subject)}`,
        `Date: ${now.toUTCString()}`,
        `Message-ID: ${oneLine(mail.messageId)}`,
      ];
      const content = `${headers.join('\n')}\n\n${mail.text.trimEnd()}\n`;
      const path = join(dir, name);
      const part = join(dir, `.${name}.part`);
      await prepare();
      try {
        await writeFile(part, content, { mode: 0o600, flag: 'wx' });
        await rename(part, path);
      } catch (error) {
        await rm(part, { force: true });
        throw error;
      }
      return { path, content };
    },
  };
}

/**
 * Removes kept mails last written more than `olderThanDays` ago, `max` of them at most, and answers how many.
 * A folder that is not there counts as empty.
 */
export async function deleteOldOutboxFiles(dir: string, olderThanDays: number, max = 1_000): Promise<number> {
  const oldest = Date.now() - olderThanDays * 86_400_000;
  let deleted = 0;
  try {
    for await (const { name } of await opendir(dir)) {
      if (deleted >= max) break;
      if (!ownName.test(name)) continue;
      const path = join(dir, name);
      const stats = await lstat(path);
      if (!stats.isFile() || stats.mtimeMs >= oldest) continue;
      await unlink(path);
      deleted += 1;
    }
  } catch (error) {
    // Also when another instance removed a file first: the rest waits for the next call.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return deleted;
}
