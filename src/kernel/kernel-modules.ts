/**
 * `loaded`: in /proc/modules; `builtIn`: part of the kernel; `loadable`: modprobe would find it; `absent`: this kernel
 * has no module of that name; `unknown`: the state cannot be determined (a container without the host's /lib/modules),
 * it may be built in.
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
