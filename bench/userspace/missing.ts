import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { STREAM_MODULE } from './subjects/nginx.ts'

/** What must be installed before proxies can be compared; undefined: nothing. */
export function missingForUserspace(): string | undefined {
  const missing = [
    ...(isProgram('haproxy') ? [] : ['haproxy']),
    ...(isProgram('nginx') ? [] : ['nginx-light']),
    ...(existsSync(STREAM_MODULE) ? [] : ['libnginx-mod-stream']),
  ]
  if (missing.length === 0) return undefined
  return `the userspace mode is compared with other proxies: apt-get install ${missing.join(' ')}`
}

function isProgram(name: string): boolean {
  return spawnSync(name, ['-v'], { stdio: 'ignore' }).error === undefined
}
