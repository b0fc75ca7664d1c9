import { isDeepEqual } from '../../../lib/equal.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../../config/configuration.ts'
import { chooseModes, isSubstituted } from '../../config/mode-choice.ts'
import type { Lack, ModeKind, Situation } from '../../../modes/definition/mode-driver.ts'

/** What is said about a changed configuration. */
export type Verdict =
  | { readonly ok: true; adopt(): void }
  | { readonly ok: false; readonly reasons: readonly string[] }

/** Makes the situation in which a mode is tried, before Node and addresses are known. */
export type Trial = (config: NodeProxyConfiguration) => Situation

export interface ModesParts {
  /** All that there are, best first. */
  readonly kinds: readonly ModeKind[]
  readonly trial: Trial
  readonly log: Logger
}

type Choice =
  | { readonly ok: true; readonly kind: ModeKind }
  | { readonly ok: false; readonly lacks: readonly Lack[] }

/** The modes of this daemon, and which of them the configuration and the kernel ask for. */
export class Modes {
  readonly #parts: ModesParts
  #current: ModeKind
  #config: NodeProxyConfiguration

  /** Throws the code of what the kernel lacks; every lack is in the log then. */
  static async choose(parts: ModesParts, config: NodeProxyConfiguration): Promise<Modes> {
    const choice = await chooseFirst(parts, config)
    if (choice.ok) return new Modes(parts, choice.kind, config)
    for (const { code, what, remedy } of choice.lacks) parts.log.error({ code, remedy }, what)
    throw cannotWork(choice.lacks)
  }

  private constructor(parts: ModesParts, current: ModeKind, config: NodeProxyConfiguration) {
    this.#parts = parts
    this.#current = current
    this.#config = config
  }

  /** At work, or about to be. */
  get current(): ModeKind {
    return this.#current
  }

  get others(): readonly ModeKind[] {
    return this.#parts.kinds.filter((kind) => kind !== this.#current)
  }

  named(name: string): ModeKind | undefined {
    return this.#parts.kinds.find((kind) => kind.name === name)
  }

  /** Whether the kernel can do what another configuration asks for; it takes effect with `adopt`. */
  async consider(config: NodeProxyConfiguration): Promise<Verdict> {
    try {
      const choice = await this.#choiceFor(config)
      if (!choice.ok) return { ok: false, reasons: choice.lacks.map(reasonOf) }
      return {
        ok: true,
        adopt: () => {
          this.#current = choice.kind
          this.#config = config
        },
      }
    } catch (error) {
      if (!(error instanceof NodeProxyError)) throw error
      return { ok: false, reasons: [[error.message, error.hint].filter(Boolean).join('; ')] }
    }
  }

  async close(): Promise<void> {
    for (const kind of this.#parts.kinds) await kind.close()
  }

  async #choiceFor(config: NodeProxyConfiguration): Promise<Choice> {
    const kind = this.#current
    const isSameMode = config.mode === this.#config.mode
    const isSame = isSameMode && isDeepEqual(kind.demands(config), kind.demands(this.#config))
    if (isSame) return { ok: true, kind }
    if (!isSameMode) return chooseFirst(this.#parts, config)
    const { lacks } = await kind.prepare(this.#parts.trial(config))
    return lacks.length > 0 ? { ok: false, lacks } : { ok: true, kind }
  }
}

const SUBSTITUTED = {
  code: 'NP_NODEPROXY_MODE_SUBSTITUTED',
  remedy:
    'the best mode that there is takes its place; to choose another one, set mode (--proxy-mode)',
}

/** The first mode that the kernel can do, of those that the configuration allows. */
async function chooseFirst(
  { kinds, trial, log }: ModesParts,
  config: NodeProxyConfiguration,
): Promise<Choice> {
  const all = kinds.map(({ name }) => name)
  const names = chooseModes(config.mode, all)
  if (isSubstituted(config.mode, all)) log.warn(SUBSTITUTED, 'there is no nftables mode yet')
  const lacks: Lack[] = []
  for (const kind of kinds.filter(({ name }) => names.includes(name))) {
    const readiness = await kind.prepare(trial(config))
    if (readiness.lacks.length === 0) {
      const why = lacks.length > 0 ? 'better ones lack something' : whyFirst(config)
      log.info({ mode: kind.name, why, ...readiness.facts }, 'the mode is chosen')
      return { ok: true, kind }
    }
    lacks.push(...readiness.lacks)
    if (names.length === 1) continue
    const missing = readiness.lacks.map(({ what }) => what)
    log.warn({ mode: kind.name, missing }, 'this kernel cannot do a mode; the next is tried')
  }
  return { ok: false, lacks }
}

function cannotWork(lacks: readonly Lack[]): NodeProxyError {
  const things = lacks.length === 1 ? '1 thing' : `${lacks.length} things`
  return new NodeProxyError(
    lacks[0]?.code ?? 'NP_NODEPROXY_MODE_UNAVAILABLE',
    `this kernel lacks ${things} that the mode needs`,
    { hint: [...new Set(lacks.map(({ remedy }) => remedy))].join('; ') },
  )
}

function whyFirst({ mode }: NodeProxyConfiguration): string {
  const isBest = mode === 'auto' || mode === 'nftables'
  return isBest ? 'the best that there is, and this kernel can do it' : 'configured'
}

function reasonOf({ what, remedy, code }: Lack): string {
  return `${what}; ${remedy} (${code})`
}
