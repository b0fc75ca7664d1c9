import type { Connection } from '../../client/connection/connection.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { ModeDefinition } from '../../modes/definition/mode-definition.ts'
import type { MissingRequirement } from '../../modes/mode.ts'
import type { RulesAccess } from '../../modes/netfilter/access.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'
import { chooseModes, MODES } from '../config/fields/mode-registry.ts'
import { NO_RULES, type Rights } from '../kernel/rights.ts'

/** The connection to the API server (undefined if none is needed), or why the daemon cannot start. */
export type StartCheck =
  | { readonly ok: true; readonly connection: Connection | undefined }
  | { readonly ok: false; readonly error: NodeProxyError }

/** What `checkStart` uses. */
export interface StartParts {
  /** The rights of this process. */
  readonly rights: Rights
  /** Default: the modes of this build. */
  readonly modes?: readonly ModeDefinition[]
  /** Loads the connection. Undefined: this start needs no API server. */
  readonly connect: (() => Promise<Connection>) | undefined
}

/**
 * Finds what prevents a start independently of the kernel and the API server: a missing right, an invalid kubeconfig,
 * or a file of a certificate or token that cannot be read. It reads files and changes nothing.
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
 * The requirements that are not met; none if at least one of the configured modes can work with these rights. Otherwise
 * the result has those of the last configured mode. Modes are in the order of preference, so the last one requires the
 * least.
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
