import { existsSync } from 'node:fs'
import { beforeEach } from 'vitest'

/** Skips the tests of a file, and says why, where scripts/setup did not install User-mode Linux. */
export function needsUserModeLinux(): void {
  const absent = !existsSync('/usr/bin/linux.uml')
  beforeEach(({ skip }) => skip(absent, 'User-mode Linux is not installed: this kernel has ip_vs'))
}
