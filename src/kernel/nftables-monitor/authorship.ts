import { readlinkSync } from 'node:fs'

/** Inode of the initial process namespace (PROC_PID_INIT_INO). */
const INITIAL = 'pid:[4026531836]'

/**
 * The kernel reports the process id of the rules' author as the initial
 * namespace numbers it. In a container those are not our numbers; there the
 * port of the author's socket serves, which is its process id in its own.
 */
export function authorship(): 'pid' | 'port' {
  try {
    return readlinkSync('/proc/self/ns/pid') === INITIAL ? 'pid' : 'port'
  } catch {
    return 'port'
  }
}
