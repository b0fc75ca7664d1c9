import type { Connection } from '../../../client/connection/connection.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { ModeDefinition } from '../../../modes/definition/mode-definition.ts'
import type { MissingRequirement } from '../../../modes/mode.ts'
import type { RulesAccess } from '../../../modes/netfilter/access.ts'
import type { NodeProxyConfiguration } from '../../config/fields/configuration.ts'
import { chooseModes } from '../../config/mode-choice.ts'
import { MODES } from '../../modes/mode-registry.ts'
import { NO_RULES, type Rights } from '../kernel/rights.ts'

/** What the daemon needs from outside the kernel, or why it cannot start. */
export type StartCheck =
  | { readonly ok: true; readonly connection: Connection | undefined }
  | { readonly ok: false; readonly error: NodeProxyError }

export interface StartParts {
  readonly rights: Rights
  /** Those of this build unless given. */
  readonly modes?: readonly ModeDefinition[]
  /** Undefined: this start speaks to no API server. */
  readonly connect: (() => Promise<Connection>) | undefined
}

/**
 * Finds what makes a start hopeless, whatever the kernel and the API server do: a
 * missing right, a kubeconfig that cannot be used, files of certificates and tokens
 * that cannot be read. Reads files and touches nothing.
 */
export async function checkStart(
  config: NodeProxyConfiguration,
  { rights, connect, modes = MODES }: StartParts,
): Promise<StartCheck> {
  const missing = missingOf(config, rights, modes)
  if (missing.length > 0) return { ok: false, error: cannotStart(missing) }
  try {
    const connection = await connect?.()
    await connection?.tls?.material()
    await connection?.credentials.check?.()
    return { ok: true, connection }
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
    return { ok: false, error }
  }
}

/**
 * Empty when one of the configured modes may work with these rights; otherwise what the last one
 * requires, because modes come in the order of preference and the last one requires the least.
 */
function missingOf(
  config: NodeProxyConfiguration,
  { netAdmin }: Rights,
  all: readonly ModeDefinition[],
): readonly MissingRequirement[] {
  const access: RulesAccess = netAdmin ? { ok: true } : { ok: false, missing: NO_RULES }
  const names = chooseModes(
    config.mode,
    all.map(({ name }) => name),
  )
  const missing = all
    .filter(({ name }) => names.includes(name))
    .map((mode) => mode.requirements(config, access))
  return missing.some((each) => each.length === 0) ? [] : (missing.at(-1) ?? [])
}

function cannotStart(missing: readonly MissingRequirement[]): NodeProxyError {
  const what = missing.map((each) => each.what).join('; ')
  const hint = [...new Set(missing.map(({ remedy }) => remedy))].join('; ')
  return new NodeProxyError(missing[0]?.code ?? NO_RULES.code, what, { hint })
}
