import type { Clock } from '../../lib/clock.ts'
import { quote } from '../../lib/quote.ts'
import { describeFault } from '../../lib/yaml.ts'
import {
  type ConfigurationFile,
  type ConfigWatch,
  watchConfig,
} from '../../settings/configuration-file.ts'
import { compareConfigurations, configzBody } from '../../settings/settings.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'
import type { Launch, LoadedConfiguration } from '../config/load.ts'
import { SETTINGS_TABLE } from '../config/settings-table.ts'
import type { Verdict } from '../modes/modes.ts'

/** What `Configuration` uses. */
export interface ConfigurationParts {
  readonly launch: Launch
  readonly clock: Clock
  readonly metrics: Metrics
  readonly conditions: Pick<Conditions, 'raise' | 'clear'>
  /** Checks a valid file against the kernel, as the last step before it is applied. */
  readonly consider: (config: NodeProxyConfiguration) => Promise<Verdict>
}

const REFUSED = 'configuration-refused'

/**
 * The present configuration. A changed file is applied as a whole, or refused: then the reasons are logged, and a
 * condition is raised until a file is applied.
 */
export class Configuration {
  readonly #parts: ConfigurationParts
  #current: NodeProxyConfiguration
  #settings: LoadedConfiguration['settings']
  #watch: ConfigWatch | undefined

  constructor(parts: ConfigurationParts) {
    this.#parts = parts
    this.#current = parts.launch.config
    this.#settings = parts.launch.settings
    parts.metrics.configReloadSuccessful.set(1)
  }

  /** The configuration that was applied last. */
  get current(): NodeProxyConfiguration {
    return this.#current
  }

  /** The body of /configz. */
  describe(): string {
    return configzBody(SETTINGS_TABLE, this.#current, this.#settings)
  }

  /** Watches the file, if there is one; `onChange` is called after a change of settings was applied. */
  follow(onChange: () => void): void {
    const { file, log } = this.#parts.launch
    if (file === undefined) return
    this.#watch = watchConfig(file.name, {
      clock: this.#parts.clock,
      codes: SETTINGS_TABLE.codes,
      text: file.text,
      onChange: async (changed) => {
        if (await this.#take(changed)) onChange()
      },
      onUnreadable: (error) =>
        log.warn(
          { err: error },
          'reading the configuration file failed; the configuration stays as it was',
        ),
    })
  }

  /** Reads the file at once. */
  reread(): void {
    void this.#watch?.reread()
  }

  close(): void {
    this.#watch?.close()
  }

  /** Returns whether settings changed. */
  async #take(file: ConfigurationFile): Promise<boolean> {
    const { launch, consider } = this.#parts
    const loaded = await launch.reload(file)
    if (!loaded.ok) return this.#refuse(loaded.problems.map(describeFault))
    const reasons = this.#needsRestart(loaded.config)
    if (reasons.length > 0) return this.#refuse(reasons)
    const verdict = await consider(loaded.config)
    if (!verdict.ok) return this.#refuse(verdict.reasons)
    verdict.adopt()
    return this.#adopt(loaded)
  }

  #adopt({ config, settings, warnings }: LoadedConfiguration): boolean {
    const { launch, metrics, conditions } = this.#parts
    const { live } = compareConfigurations(SETTINGS_TABLE, this.#current, config)
    this.#current = config
    this.#settings = settings
    for (const warning of warnings) {
      launch.log.warn({ code: warning.code }, describeFault(warning))
    }
    conditions.clear(REFUSED)
    metrics.configReloads.inc({ result: 'applied' })
    metrics.configReloadSuccessful.set(1)
    launch.log.info({ changed: live }, 'applied the changed configuration')
    return live.length > 0
  }

  #refuse(reasons: readonly string[]): false {
    const { launch, metrics, conditions } = this.#parts
    metrics.configReloads.inc({ result: 'refused' })
    metrics.configReloadSuccessful.set(0)
    conditions.raise(REFUSED, {
      message: `the changed configuration file ${quote(launch.file?.name)} is refused, and the previous one stays in use: ${reasons.join('; ')}`,
      blocksReadiness: false,
    })
    launch.log.error(
      { reasons },
      'the changed configuration is refused; the previous one stays in use',
    )
    return false
  }

  #needsRestart(next: NodeProxyConfiguration): readonly string[] {
    const { restart } = compareConfigurations(SETTINGS_TABLE, this.#current, next)
    return restart.map((field) => `${field} cannot change while running; restart the daemon`)
  }
}
