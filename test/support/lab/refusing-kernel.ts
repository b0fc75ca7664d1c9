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
  return proxyMode() === 'nftables' ? occupiedTable(lab) : failingPrograms(lab)
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

/** Replaces our table by one that another program owns; no other program may change it while that one runs. */
function occupiedTable({ node }: Lab): RefusingKernel {
  let owner: ReturnType<typeof spawn> | undefined
  return {
    programs: undefined,
    async begin() {
      owner = spawn('ip', ['netns', 'exec', node.namespace.name, 'nft', '-i'], {
        stdio: ['pipe', 'ignore', 'ignore'],
      })
      const empty = 'table ip node-proxy { flags owner; }'
      owner.stdin?.write(`delete table ip node-proxy; ${empty}\n`)
      const listed = () => node.namespace.exec(['nft', 'list', 'table', 'ip', 'node-proxy'])
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
