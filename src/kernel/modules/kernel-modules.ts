/**
 * `loaded`: in /proc/modules; `builtIn`: part of the kernel; `loadable`: modprobe
 * would find it; `absent`: this kernel has none of that name; `unknown`: nothing
 * here shows it (a container without the host's /lib/modules), it may be built in.
 */
export type ModuleState = 'loaded' | 'builtIn' | 'loadable' | 'absent' | 'unknown'

export interface LoadReport {
  readonly states: ReadonlyMap<string, ModuleState>
  /** Those that were missing and are there now. */
  readonly loaded: readonly string[]
  /** What modprobe said where it could not load something; one line, empty when nothing. */
  readonly said: string
}

/**
 * What modules this kernel has, by the names that modprobe takes. Only a trial shows
 * whether a feature works. A module that cannot be loaded is a value.
 */
export interface KernelModules {
  states(names: readonly string[]): Promise<ReadonlyMap<string, ModuleState>>
  /** Loads those that are neither loaded nor built in, as far as possible; returns their states afterwards. */
  load(names: readonly string[]): Promise<LoadReport>
}

/** Whether the kernel has it at work. */
export function isPresent(state: ModuleState | undefined): boolean {
  return state === 'loaded' || state === 'builtIn'
}
