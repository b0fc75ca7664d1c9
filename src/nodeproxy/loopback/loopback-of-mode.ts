import type { ModeDriver } from '../../modes/definition/mode-driver.ts'
import type { Mode, ObjectKey } from '../../modes/mode.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'
import type { Running } from '../engine/engine.ts'
import type { LoopbackControl } from './loopback-control.ts'

/** What `LoopbackOfMode` uses. */
interface LoopbackOfModeParts {
  readonly control: Pick<LoopbackControl, 'open' | 'close'>
  readonly configuration: { readonly current: NodeProxyConfiguration }
  readonly modes: {
    readonly current: ModeDriver<NodeProxyConfiguration>
    named(name: string): ModeDriver<NodeProxyConfiguration> | undefined
  }
  readonly running: () => Running | undefined
}

/** Opens and closes loopback routing as the active modes need it. */
export class LoopbackOfMode {
  readonly #parts: LoopbackOfModeParts
  /** The name of the last mode that had all its objects in the kernel. Undefined: there was none yet. */
  #completeMode: string | undefined

  constructor(parts: LoopbackOfModeParts) {
    this.#parts = parts
  }

  /**
   * To be called when `mode` has written objects; `failed` are those that the kernel refused. Opens loopback routing if
   * the mode needs it, and the rules that guard it are in the kernel.
   */
  written(mode: Mode, failed: ReadonlyMap<ObjectKey, unknown>): void {
    const { control, configuration, modes } = this.#parts
    const running = this.#parts.running()
    const guards = modes.named(mode.name)?.loopbackGuards(configuration.current)
    if (guards === undefined || running?.mode !== mode) return
    if (guards.every((key) => running.tracker.isWanted(key) && !failed.has(key))) control.open()
  }

  /** To be called when the mode of this name has all its objects in the kernel. */
  completed(mode: string): void {
    this.#completeMode = mode
    this.reconfigured()
  }

  /**
   * To be called when the configuration has changed. Closes loopback routing if the mode does not need it. Does nothing
   * during a change of mode, when two modes have objects in the kernel.
   */
  reconfigured(): void {
    const { control, configuration, modes } = this.#parts
    const mode = modes.current
    if (this.#completeMode !== mode.name) return
    if (mode.loopbackGuards(configuration.current) === undefined) control.close()
  }
}
