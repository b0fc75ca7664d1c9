import { NodeProxyError } from '../../../lib/error.ts'
import type { ModeDriver } from '../../../modes/definition/mode-driver.ts'
import type { ModeView } from '../../../modes/definition/mode-view.ts'
import type { ModeInputs } from '../../../modes/netfilter/settings/mode-inputs.ts'
import type { NodeProxyConfiguration } from '../../config/fields/configuration.ts'
import { chooseModes } from '../../config/mode-choice.ts'

/** A mode of this build, and what can be seen of it. */
export interface OpenView {
  readonly driver: ModeDriver<NodeProxyConfiguration>
  readonly view: ModeView
}

/**
 * The mode that a start would choose, over a kernel that is only read. With `auto` that is the first one that can be
 * read and has no caveat, because a start tries what the kernel can do and a plan may not. Throws why the only one
 * cannot be opened.
 */
export async function openView(
  drivers: readonly ModeDriver<NodeProxyConfiguration>[],
  inputs: ModeInputs<NodeProxyConfiguration>,
): Promise<OpenView> {
  const all = drivers.map(({ name }) => name)
  const names = chooseModes(inputs.config.mode, all)
  let refused: NodeProxyError | undefined
  for (const driver of drivers.filter(({ name }) => names.includes(name))) {
    try {
      const view = await driver.view(inputs)
      if (names.length === 1 || view.caveats.length === 0) return { driver, view }
      await view.close()
    } catch (error) {
      if (!(error instanceof NodeProxyError) || names.length === 1) throw error
      refused = error
    }
  }
  throw refused ?? new NodeProxyError('NP_NODEPROXY_MODE_UNAVAILABLE', 'no mode can work here')
}
