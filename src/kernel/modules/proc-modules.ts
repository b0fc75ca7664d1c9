import { readFileSync } from 'node:fs'
import { release } from 'node:os'
import type { ProgramRunner } from '../spawner/program-runner.ts'
import type { KernelModules, ModuleState } from './kernel-modules.ts'

const TIMEOUT_MS = 5000

export interface ModuleFiles {
  readonly loaded: string
  readonly builtIn: string
}

export class ProcModules implements KernelModules {
  readonly #runner: ProgramRunner
  readonly #files: ModuleFiles

  constructor(runner: ProgramRunner, files?: ModuleFiles) {
    this.#runner = runner
    const builtIn = `/lib/modules/${release()}/modules.builtin`
    this.#files = files ?? { loaded: '/proc/modules', builtIn }
  }

  async state(name: string): Promise<ModuleState> {
    const wanted = canonical(name)
    if (lines(this.#files.loaded).some((line) => line.split(' ')[0] === wanted)) return 'loaded'
    if (lines(this.#files.builtIn).some((line) => moduleOf(line) === wanted)) return 'builtIn'
    const args = ['-n', '-q', name]
    const { status } = await this.#runner.run({ program: 'modprobe', args, timeoutMs: TIMEOUT_MS })
    return status === 0 ? 'loadable' : 'absent'
  }
}

function lines(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch {
    return []
  }
}

/** `kernel/net/netfilter/xt_set.ko` → `xt_set`. */
function moduleOf(line: string): string {
  return canonical(line.slice(line.lastIndexOf('/') + 1).replace(/\.ko(\.\w+)?$/, ''))
}

/** The kernel takes `-` and `_` for the same. */
function canonical(name: string): string {
  return name.replaceAll('-', '_')
}
