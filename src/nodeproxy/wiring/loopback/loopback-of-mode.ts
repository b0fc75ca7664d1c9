import type { Mode, ObjectKey } from '../../../modes/mode.ts'
import type { Configuration } from '../configuration/configuration.ts'
import type { Running } from '../engine/engine.ts'
import type { Modes } from '../modes/modes.ts'
import type { LoopbackControl } from './loopback-control.ts'

export interface LoopbackOfModeParts {
  readonly control: Pick<LoopbackControl, 'open' | 'close'>
  readonly configuration: Pick<Configuration, 'current'>
  readonly modes: Pick<Modes, 'current' | 'named'>
  readonly running: () => Running | undefined
}

/** Opens and closes loopback routing as the modes at work need it. */
export class LoopbackOfMode {
  readonly #parts: LoopbackOfModeParts
  /** The name of the mode that holds every object, so that no other mode serves. */
  #completeMode: string | undefined

  constructor(parts: LoopbackOfModeParts) {
    this.#parts = parts
  }

  /** `mode` wrote objects: opens loopback once the rules that guard it are in the kernel. */
  written(mode: Mode, failed: ReadonlyMap<ObjectKey, unknown>): void {
    const { control, configuration, modes } = this.#parts
    const running = this.#parts.running()
    const guards = modes.named(mode.name)?.loopbackGuards(configuration.current)
    if (guards === undefined || running?.mode !== mode) return
    if (guards.every((key) => running.tracker.isWanted(key) && !failed.has(key))) control.open()
  }

  /** The mode of this name holds every object. */
  completed(mode: string): void {
    this.#completeMode = mode
    this.reconfigured()
  }

  /** Closes loopback if no mode at work needs it; during a change of mode two modes are at work. */
  reconfigured(): void {
    const { control, configuration, modes } = this.#parts
    const mode = modes.current
    if (this.#completeMode !== mode.name) return
    if (mode.loopbackGuards(configuration.current) === undefined) control.close()
  }
}
