import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { execa } from 'execa'

const MANY = 100

/** Makes a control group for the processes of a machine, below that of this process. @returns its folder */
export function makeCgroup(): string {
  const [, mounted = ''] = / (\S+) cgroup2 /.exec(readFileSync('/proc/mounts', 'utf8')) ?? []
  if (mounted === '') throw new Error('no hierarchy of control groups (cgroup2) is mounted')
  for (let number = 0; ; number += 1) {
    const folder = join(mounted, `np-machine-${process.pid}-${number}`)
    if (existsSync(folder)) continue
    mkdirSync(folder)
    return folder
  }
}

/** Removes a control group, children first, after its processes have ended, of which the kernel does not notify. */
export async function removeCgroup(folder: string): Promise<void> {
  for (let tries = 0; existsSync(folder); tries += 1) {
    if (tries > MANY) throw new Error(`processes are left in ${folder}`)
    await execa('find', [folder, '-depth', '-type', 'd', '-delete'], { reject: false })
    await delay(20)
  }
}
