import { spawnSync } from 'node:child_process'

/** Whether this kernel has IP virtual servers, be it after loading them. */
export function hasIpvs(): boolean {
  return spawnSync('modprobe', ['-q', 'ip_vs']).status === 0
}
