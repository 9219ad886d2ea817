// Which file systems in memory a test run uses.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMountedWell } from './memory.ts';

const disk = '/dev/vda / ext4 rw,relatime 0 0\n';

test('a writable tmpfs that runs programs is used', () => {
  assert.equal(isMountedWell(`${disk}tmpfs /dev/shm tmpfs rw,nosuid,nodev,size=8g 0 0\n`), true);
});

test('no tmpfs, another file system, or one that is read-only or runs no programs is not used', () => {
  for (const mounts of [
    disk,
    `${disk}tmpfs /dev/shm/other tmpfs rw 0 0\n`,
    `${disk}/dev/vdb /dev/shm ext4 rw 0 0\n`,
    `${disk}shm /dev/shm tmpfs ro 0 0\n`,
    `${disk}shm /dev/shm tmpfs rw,nosuid,noexec,size=65536k 0 0\n`,
    `${disk}tmpfs /dev/shm tmpfs rw 0 0\nshm /dev/shm tmpfs rw,noexec 0 0\n`,
  ])
    assert.equal(isMountedWell(mounts), false, mounts);
});
