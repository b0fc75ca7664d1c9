import type { KernelModules, ModuleState } from './kernel-modules.ts'

/** Every module is absent unless the test says otherwise. */
export class FakeModules implements KernelModules {
  readonly states: Map<string, ModuleState>

  constructor(states: Readonly<Record<string, ModuleState>> = {}) {
    this.states = new Map(Object.entries(states))
  }

  async state(name: string): Promise<ModuleState> {
    return this.states.get(name) ?? 'absent'
  }
}
