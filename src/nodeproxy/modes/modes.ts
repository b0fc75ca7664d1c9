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

/** Makes the inputs with which a mode is checked for this configuration, before Node and addresses are known. */
export type TrialInputs = (config: NodeProxyConfiguration) => ModeInputs<NodeProxyConfiguration>

/** What `Modes` uses. */
export interface ModesParts {
  /** All modes, the preferred one first. */
  readonly drivers: readonly ModeDriver<NodeProxyConfiguration>[]
  readonly inputsFor: TrialInputs
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
   * Chooses the first mode that configuration and kernel allow: for `auto` one without caveats, if there is one.
   * @throws the code of the first missing requirement; all of them are logged
   */
  static async choose(parts: ModesParts, config: NodeProxyConfiguration): Promise<Modes> {
    const choice = await chooseFirst(parts, config)
    if (choice.ok) return new Modes(parts, choice.driver, config)
    for (const { code, what, remedy } of choice.missing) parts.log.error({ code, remedy }, what)
    throw cannotWork(allowedModes(parts, config), choice.missing)
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
    const { missing } = await driver.prepare(this.#parts.inputsFor(config))
    return missing.length > 0 ? { ok: false, missing } : { ok: true, driver }
  }
}

/** A mode that can work. */
interface WorkingMode {
  readonly driver: ModeDriver<NodeProxyConfiguration>
  readonly readiness: Awaited<ReturnType<ModeDriver['prepare']>>
}

/**
 * The first mode whose requirements the kernel meets, of those that the configuration allows. If it allows several,
 * one with caveats is chosen only where all that work have some.
 */
async function chooseFirst(parts: ModesParts, config: NodeProxyConfiguration): Promise<Choice> {
  const { drivers, inputsFor, log } = parts
  const names = allowedModes(parts, config)
  const missing: MissingRequirement[] = []
  let withCaveats: WorkingMode | undefined
  let why = whyFirst(config)
  for (const driver of drivers.filter(({ name }) => names.includes(name))) {
    const readiness = await driver.prepare(inputsFor(config))
    const isWorking = readiness.missing.length === 0
    const caveats = names.length === 1 ? [] : (readiness.caveats ?? [])
    if (isWorking && caveats.length === 0) return chosen({ driver, readiness }, why, log)
    if (isWorking) withCaveats ??= { driver, readiness }
    missing.push(...readiness.missing)
    why = 'better modes were passed over'
    if (names.length === 1) continue
    const reasons = [...readiness.missing, ...caveats].map(({ what }) => what)
    log.warn({ mode: driver.name, reasons }, 'auto passes on from this mode')
  }
  if (withCaveats === undefined) return { ok: false, missing }
  return chosen(withCaveats, 'no mode works without a caveat', log)
}

function chosen({ driver, readiness }: WorkingMode, why: string, log: Logger): Choice {
  const { facts, caveats = [] } = readiness
  log.info({ mode: driver.name, why, ...facts }, 'the mode is chosen')
  for (const { what, code, remedy } of caveats) log.warn({ code, remedy }, what)
  return { ok: true, driver }
}

/** The names of the modes that the configuration allows. */
function allowedModes(
  { drivers }: ModesParts,
  { mode }: NodeProxyConfiguration,
): readonly string[] {
  return chooseModes(
    mode,
    drivers.map(({ name }) => name),
  )
}

function cannotWork(
  modes: readonly string[],
  missing: readonly MissingRequirement[],
): NodeProxyError {
  const isOne = missing.length === 1
  const count = isOne ? '1 requirement' : `${missing.length} requirements`
  const unmet = isOne ? 'is not met' : 'are not met'
  return new NodeProxyError(
    missing[0]?.code ?? 'NP_NODEPROXY_MODE_UNAVAILABLE',
    modes.length === 1
      ? `mode ${modes[0]} cannot work here: ${count} ${unmet}`
      : `no mode can work here: ${count} of the modes ${modes.join(', ')} ${unmet}`,
    { hint: [...new Set(missing.map(({ remedy }) => remedy))].join('; ') },
  )
}

function whyFirst({ mode }: NodeProxyConfiguration): string {
  return mode === 'auto' ? 'the best that there is, and this kernel can do it' : 'configured'
}

function reasonOf({ what, remedy, code }: MissingRequirement): string {
  return `${what}; ${remedy} (${code})`
}
