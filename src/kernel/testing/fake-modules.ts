import {
  isPresent,
  type KernelModules,
  type LoadReport,
  type ModuleState,
} from '../kernel-modules.ts'

/** Every module is absent by default; what is loadable is loaded on request. */
export class FakeModules implements KernelModules {
  readonly known: Map<string, ModuleState>
  /** The modules that were to be loaded, call by call. */
  readonly loadRequests: (readonly string[])[] = []
  /** Reported whenever a module could not be loaded. */
  complaint = 'modprobe: FATAL: Module not found'

  constructor(states: Readonly<Record<string, ModuleState>> = {}) {
    this.known = new Map(Object.entries(states))
  }

  async states(names: readonly string[]): Promise<ReadonlyMap<string, ModuleState>> {
    return new Map(names.map((name) => [name, this.known.get(name) ?? 'absent']))
  }

  async load(names: readonly string[]): Promise<LoadReport> {
    const wanted = names.filter((name) => !isPresent(this.known.get(name)))
    if (wanted.length > 0) this.loadRequests.push(wanted)
    for (const name of wanted) {
      if (this.known.get(name) === 'loadable') this.known.set(name, 'loaded')
    }
    const states = await this.states(names)
    const loaded = wanted.filter((name) => isPresent(states.get(name)))
    return {
      states,
      loaded,
      errorText: [...states.values()].every(isPresent) ? '' : this.complaint,
    }
  }
}
