import { isDeepEqual } from '../../lib/equal.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { ModeDriver } from '../../modes/definition/mode-driver.ts'
import type { MissingRequirement } from '../../modes/mode.ts'
import type { ModeInputs } from '../../modes/netfilter/settings/settings.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'
import { chooseModes } from '../config/fields/mode-registry.ts'

/** Whether a changed configuration is possible: `adopt` applies it. `reasons` are sentences for the log. */
export type Verdict =
  | { readonly ok: true; adopt(): void }
  | { readonly ok: false; readonly reasons: readonly string[] }

/** The inputs with which a mode is checked, before Node and addresses are known. */
export type Trial = (config: NodeProxyConfiguration) => ModeInputs<NodeProxyConfiguration>

/** What `Modes` uses. */
export interface ModesParts {
  /** All modes, the preferred one first. */
  readonly drivers: readonly ModeDriver<NodeProxyConfiguration>[]
  readonly trial: Trial
  readonly log: Logger
}

type Choice =
  | { readonly ok: true; readonly driver: ModeDriver<NodeProxyConfiguration> }
  | { readonly ok: false; readonly missing: readonly MissingRequirement[] }

/** The modes of this daemon, and the one that the configuration and the kernel select. */
export class Modes {
  readonly #parts: ModesParts
  #current: ModeDriver<NodeProxyConfiguration>
  #config: NodeProxyConfiguration

  /**
   * Chooses the first mode that configuration and kernel allow.
   * @throws the code of the first missing requirement; all of them are logged
   */
  static async choose(parts: ModesParts, config: NodeProxyConfiguration): Promise<Modes> {
    const choice = await chooseFirst(parts, config)
    if (choice.ok) return new Modes(parts, choice.driver, config)
    for (const { code, what, remedy } of choice.missing) parts.log.error({ code, remedy }, what)
    throw cannotWork(choice.missing)
  }

  private constructor(
    parts: ModesParts,
    current: ModeDriver<NodeProxyConfiguration>,
    config: NodeProxyConfiguration,
  ) {
    this.#parts = parts
    this.#current = current
    this.#config = config
  }

  /** The chosen mode: active, or about to be. */
  get current(): ModeDriver<NodeProxyConfiguration> {
    return this.#current
  }

  /** All modes but the chosen one. */
  get others(): readonly ModeDriver<NodeProxyConfiguration>[] {
    return this.#parts.drivers.filter((driver) => driver !== this.#current)
  }

  /** The mode of this name. */
  named(name: string): ModeDriver<NodeProxyConfiguration> | undefined {
    return this.#parts.drivers.find((driver) => driver.name === name)
  }

  /** Whether the kernel has what another configuration requires. The configuration takes effect with `adopt`. */
  async consider(config: NodeProxyConfiguration): Promise<Verdict> {
    try {
      const choice = await this.#choiceFor(config)
      if (!choice.ok) return { ok: false, reasons: choice.missing.map(reasonOf) }
      return {
        ok: true,
        adopt: () => {
          this.#current = choice.driver
          this.#config = config
        },
      }
    } catch (error) {
      if (!(error instanceof NodeProxyError)) throw error
      return { ok: false, reasons: [[error.message, error.hint].filter(Boolean).join('; ')] }
    }
  }

  async close(): Promise<void> {
    for (const driver of this.#parts.drivers) await driver.close()
  }

  async #choiceFor(config: NodeProxyConfiguration): Promise<Choice> {
    const driver = this.#current
    const isSameMode = config.mode === this.#config.mode
    const isSame = isSameMode && isDeepEqual(driver.demands(config), driver.demands(this.#config))
    if (isSame) return { ok: true, driver }
    if (!isSameMode) return chooseFirst(this.#parts, config)
    const { missing } = await driver.prepare(this.#parts.trial(config))
    return missing.length > 0 ? { ok: false, missing } : { ok: true, driver }
  }
}

/** The first mode whose requirements the kernel meets, of those that the configuration allows. */
async function chooseFirst(
  { drivers, trial, log }: ModesParts,
  config: NodeProxyConfiguration,
): Promise<Choice> {
  const all = drivers.map(({ name }) => name)
  const names = chooseModes(config.mode, all)
  const missing: MissingRequirement[] = []
  for (const driver of drivers.filter(({ name }) => names.includes(name))) {
    const { facts, caveats = [], ...readiness } = await driver.prepare(trial(config))
    const requirements = names.length === 1 ? readiness.missing : [...readiness.missing, ...caveats]
    if (requirements.length === 0) {
      const why = missing.length > 0 ? 'better modes have missing requirements' : whyFirst(config)
      log.info({ mode: driver.name, why, ...facts }, 'the mode is chosen')
      for (const { what, code, remedy } of caveats) log.warn({ code, remedy }, what)
      return { ok: true, driver }
    }
    missing.push(...requirements)
    if (names.length === 1) continue
    const reasons = requirements.map(({ what }) => what)
    log.warn(
      { mode: driver.name, missing: reasons },
      'this kernel does not support a mode; trying the next one',
    )
  }
  return { ok: false, missing }
}

function cannotWork(missing: readonly MissingRequirement[]): NodeProxyError {
  const things = missing.length === 1 ? '1 thing' : `${missing.length} things`
  return new NodeProxyError(
    missing[0]?.code ?? 'NP_NODEPROXY_MODE_UNAVAILABLE',
    `this kernel lacks ${things} that the mode needs`,
    { hint: [...new Set(missing.map(({ remedy }) => remedy))].join('; ') },
  )
}

function whyFirst({ mode }: NodeProxyConfiguration): string {
  return mode === 'auto' ? 'the best that there is, and this kernel can do it' : 'configured'
}

function reasonOf({ what, remedy, code }: MissingRequirement): string {
  return `${what}; ${remedy} (${code})`
}
