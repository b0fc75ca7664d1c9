import { dlopen } from 'node:ffi'
import { closeSync, openSync } from 'node:fs'

const CLONE_NEWNET = 0x40000000

/**
 * Moves this thread, but no other thread of the process, into a network namespace. The sockets that it opens from now
 * on belong to the namespace, and so do the settings that it reads and writes below /proc/sys/net.
 */
export function enterNamespace(name: string): void {
  const { functions: libc } = dlopen('libc.so.6', {
    setns: { return: 'i32', arguments: ['i32', 'i32'] },
  })
  const fd = openSync(`/run/netns/${name}`, 'r')
  const result = libc.setns(fd, CLONE_NEWNET)
  closeSync(fd)
  if (result !== 0) throw new Error(`cannot enter the network namespace ${name}`)
}
