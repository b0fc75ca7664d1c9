import type { Connection } from '../../../client/connection/connection.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { AVAILABLE_MODES } from '../../available-modes.ts'
import type { NodeProxyConfiguration } from '../../config/configuration.ts'
import { chooseModes } from '../../config/mode-choice.ts'
import { NO_RULES, type Rights } from '../kernel/rights.ts'
import type { Lack } from '../modes/mode-kind.ts'
import { chooseEntry } from '../modes/userspace-entry.ts'

/** What the daemon needs from outside the kernel, or why it cannot start. */
export type StartCheck =
  | { readonly ok: true; readonly connection: Connection | undefined }
  | { readonly ok: false; readonly error: NodeProxyError }

export interface StartParts {
  readonly rights: Rights
  /** Undefined: this start speaks to no API server. */
  readonly connect: (() => Promise<Connection>) | undefined
}

type StartConfiguration = Pick<NodeProxyConfiguration, 'mode' | 'userspace'>

/**
 * Finds what makes a start hopeless, whatever the kernel and the API server do: a
 * missing right, a kubeconfig that cannot be used, files of certificates and tokens
 * that cannot be read. Reads files and touches nothing.
 */
export async function checkStart(
  config: StartConfiguration,
  { rights, connect }: StartParts,
): Promise<StartCheck> {
  const lacks = lacksOf(config, rights)
  if (lacks.length > 0) return { ok: false, error: cannotStart(lacks) }
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

/** Empty when one of the configured modes may work with these rights. */
function lacksOf(config: StartConfiguration, { netAdmin }: Rights): readonly Lack[] {
  const modes = chooseModes(config.mode, AVAILABLE_MODES)
  if (netAdmin && modes.some((mode) => mode !== 'userspace')) return []
  if (!modes.includes('userspace')) return [NO_RULES]
  if (netAdmin && config.userspace.entry !== 'bind') return []
  const choice = chooseEntry(config, { ok: false, lack: NO_RULES })
  return choice.ok ? [] : choice.lacks
}

function cannotStart(lacks: readonly Lack[]): NodeProxyError {
  const what = lacks.map((lack) => lack.what).join('; ')
  const hint = [...new Set(lacks.map(({ remedy }) => remedy))].join('; ')
  return new NodeProxyError(lacks[0]?.code ?? NO_RULES.code, what, { hint })
}
