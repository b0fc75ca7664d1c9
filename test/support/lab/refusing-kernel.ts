import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { breakablePrograms } from './breakable-programs.ts'
import { proxyMode } from './daemon-config.ts'
import type { Lab } from './lab.ts'

/** Makes the kernel refuse, for a while, what the mode under test writes. */
export interface RefusingKernel {
  /** The folder of programs with which the daemon must be started; undefined: the mode starts no programs. */
  readonly programs: string | undefined
  /** From now on, everything is refused. */
  begin(): Promise<void>
  end(): Promise<void>
}

export function refusingKernel(lab: Lab): RefusingKernel {
  return proxyMode() === 'nftables' ? occupiedTable(lab, 'node-proxy') : failingPrograms(lab)
}

function failingPrograms({ folder }: Lab): RefusingKernel {
  const flag = join(folder, 'broken')
  return {
    programs: breakablePrograms(folder, flag),
    async begin() {
      writeFileSync(flag, '')
    },
    async end() {
      rmSync(flag)
    },
  }
}

/** Makes `table` one of another program, in place of ours if there is one; none but that program may change it while it runs. */
export function occupiedTable({ node }: Lab, table: string): RefusingKernel {
  let owner: ReturnType<typeof spawn> | undefined
  return {
    programs: undefined,
    async begin() {
      owner = spawn('ip', ['netns', 'exec', node.namespace.name, 'nft', '-i'], {
        stdio: ['pipe', 'ignore', 'ignore'],
      })
      const empty = `table ip ${table} { flags owner; }`
      owner.stdin?.write(`add table ip ${table}; delete table ip ${table}; ${empty}\n`)
      const listed = () => node.namespace.exec(['nft', 'list', 'table', 'ip', table])
      await expect.poll(() => listed().catch(() => '')).toContain('owner')
    },
    async end() {
      if (owner === undefined) return
      const ended = once(owner, 'exit')
      owner.stdin?.end()
      await ended
    },
  }
}
