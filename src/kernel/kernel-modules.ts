import { existsSync, readFileSync } from 'node:fs'
import { release } from 'node:os'
import type { ProgramResult, ProgramRunner } from './spawner/program-runner.ts'

/**
 * The state of a kernel module.
 *
 * - `loaded`: it is in /proc/modules.
 * - `builtIn`: it is part of the kernel.
 * - `loadable`: modprobe would find it.
 * - `absent`: this kernel has no module of that name.
 * - `unknown`: the state cannot be determined, for example in a container without the host's /lib/modules, or without
 *   modprobe. The module may be built in.
 */
export type ModuleState = 'loaded' | 'builtIn' | 'loadable' | 'absent' | 'unknown'

/** The result of loading kernel modules. */
export interface LoadReport {
  readonly states: ReadonlyMap<string, ModuleState>
  /** Names of the modules that were missing and are present now. */
  readonly loaded: readonly string[]
  /** Error output of modprobe, as one line; empty when it loaded everything. */
  readonly errorText: string
}

/**
 * The modules of this kernel, by the names that modprobe takes. A module that cannot be loaded is a value, not
 * an error. A present module does not prove that a feature works.
 */
export interface KernelModules {
  /** The state of each module, by name. */
  states(names: readonly string[]): Promise<ReadonlyMap<string, ModuleState>>
  /** Loads those that are neither loaded nor built in, as far as possible; returns their states afterwards. */
  load(names: readonly string[]): Promise<LoadReport>
}

/** Whether the module is loaded or built in. */
export function isPresent(state: ModuleState | undefined): boolean {
  return state === 'loaded' || state === 'builtIn'
}

/** Timeouts of modprobe. */
const TIMEOUT_MS = { look: 5_000, load: 15_000 } as const

/** Paths of the files that list modules; tests use others. */
interface ModuleFiles {
  readonly loaded: string
  readonly builtIn: string
  /** A folder with an entry for every loaded module and for built-in ones that have parameters. */
  readonly present: string
}

/** Reads /proc/modules, modules.builtin and /sys/module, and loads modules with modprobe. */
export class ProcModules implements KernelModules {
  readonly #runner: ProgramRunner
  readonly #files: ModuleFiles

  constructor(runner: ProgramRunner, files?: ModuleFiles) {
    this.#runner = runner
    const builtIn = `/lib/modules/${release()}/modules.builtin`
    this.#files = files ?? { loaded: '/proc/modules', builtIn, present: '/sys/module' }
  }

  async states(names: readonly string[]): Promise<ReadonlyMap<string, ModuleState>> {
    const seen = this.#look(names)
    const states = await Promise.all(
      names.map(async (name) => [name, seen.get(name) ?? (await this.#request(name))] as const),
    )
    return new Map(states)
  }

  async load(names: readonly string[]): Promise<LoadReport> {
    const seen = this.#look(names)
    const missing = names.filter((name) => !isPresent(seen.get(name)))
    if (missing.length === 0) return { states: await this.states(names), loaded: [], errorText: '' }
    const result = await this.#modprobe(['-a', ...missing], TIMEOUT_MS.load)
    const states = await this.states(names)
    const loaded = missing.filter((name) => isPresent(states.get(name)))
    return { states, loaded, errorText: errorTextOf(result) }
  }

  /** The states that the files list; names that they do not list are left out. */
  #look(names: readonly string[]): ReadonlyMap<string, ModuleState> {
    const loaded = new Set(lines(this.#files.loaded)?.map((line) => line.split(' ')[0] ?? ''))
    const builtIn = new Set(lines(this.#files.builtIn)?.map(moduleOf))
    const found = new Map<string, ModuleState>()
    for (const name of names) {
      const wanted = canonical(name)
      if (loaded.has(wanted)) found.set(name, 'loaded')
      else if (builtIn.has(wanted) || existsSync(`${this.#files.present}/${wanted}`)) {
        found.set(name, 'builtIn')
      }
    }
    return found
  }

  /** The state of a module that the files do not list. */
  async #request(name: string): Promise<ModuleState> {
    const { status, timedOut } = await this.#modprobe(['-n', '-q', name], TIMEOUT_MS.look)
    if (status === 0) return 'loadable'
    const isAnswer = status !== NOT_FOUND && !timedOut
    return isAnswer && existsSync(this.#files.builtIn) ? 'absent' : 'unknown'
  }

  #modprobe(args: readonly string[], timeoutMs: number): Promise<ProgramResult> {
    return this.#runner.run({ program: 'modprobe', args, timeoutMs, concurrent: true })
  }
}

/** The exit status of the runner for a program that does not exist, as in a shell. */
const NOT_FOUND = 127
const MAX_MESSAGE_LENGTH = 500

/** `LoadReport.errorText` for a run of modprobe. */
function errorTextOf({ status, stderr, timedOut }: ProgramResult): string {
  if (status === 0) return ''
  if (timedOut) return 'modprobe took too long'
  if (status === NOT_FOUND) return 'there is no modprobe here'
  return stderr
    .split('\n')
    .map((line) => line.replace(/\p{Cc}/gu, ' ').trim())
    .filter((line) => line !== '')
    .join('; ')
    .slice(0, MAX_MESSAGE_LENGTH)
}

/** Undefined if the file cannot be read. */
function lines(path: string): readonly string[] | undefined {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch {
    return undefined
  }
}

/** `kernel/net/netfilter/xt_set.ko` → `xt_set`. */
function moduleOf(line: string): string {
  return canonical(line.slice(line.lastIndexOf('/') + 1).replace(/\.ko(\.\w+)?$/, ''))
}

/** The kernel treats `-` and `_` as equal. */
function canonical(name: string): string {
  return name.replaceAll('-', '_')
}
