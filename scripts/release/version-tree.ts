// Lays out the committed files of a version so that its service can be started beside this one's.
// It must not install anything: the tree uses the packages of this checkout, and its own workspaces.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Writes the files of `commit` of the repository `root` into `folder`, which is created. */
export function layOutVersion(root: string, commit: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  const options = { cwd: root, maxBuffer: 1_073_741_824 };
  execFileSync('tar', ['-x', '-C', folder], { input: execFileSync('git', ['archive', commit], options) });
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, '@castellan'), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '@castellan' && !name.startsWith('.'))
      symlinkSync(join(root, 'node_modules', name), join(modules, name));
  for (const name of readdirSync(join(folder, 'packages')))
    symlinkSync(join(folder, 'packages', name), join(modules, '@castellan', name));
  // A console that has no sources is current as it is: the start builds none.
  rmSync(join(folder, 'packages/console/src/app'), { recursive: true, force: true });
  cpSync(join(root, 'packages/console/dist'), join(folder, 'packages/console/dist'), { recursive: true });
}
