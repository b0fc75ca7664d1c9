import type { ClusterStore } from '../../../cluster/cluster-store.ts'
import type { NodeContext } from '../../../forwarding/node-context.ts'
import type { Addresses } from '../../../kernel/addresses/addresses.ts'
import type { Sysctl } from '../../../kernel/sysctl/sysctl.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import { nodePortScope } from '../../../modes/netfilter/settings/configured-scope.ts'
import type { KernelFacts, ModeInputs } from '../../../modes/netfilter/settings/mode-inputs.ts'
import type { NodePortScope } from '../../../modes/netfilter/settings/node-port-scope.ts'
import type { Node } from '../../../resources/types.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../../config/fields/configuration.ts'
import { routesLocalnet } from '../kernel/sysctls.ts'
import { LocalAddresses } from './local-addresses.ts'
import { nodeContext } from './node-identity.ts'

export interface ThisNodeParts {
  readonly configuration: { readonly current: NodeProxyConfiguration }
  readonly nodeName: string
  readonly store: Pick<ClusterStore, 'node'>
  readonly kernel: { readonly addresses: Addresses; readonly sysctl: Sysctl }
  readonly facts: Omit<KernelFacts, 'routesLocalnet'>
  readonly log: Logger
}

/** This node as it is now: its object, the addresses of its interfaces, its kernel, its configuration. */
export class ThisNode {
  readonly #parts: ThisNodeParts
  readonly #local: LocalAddresses

  constructor(parts: ThisNodeParts) {
    this.#parts = parts
    this.#local = new LocalAddresses(parts.kernel.addresses, parts.log)
  }

  /** The Node object; undefined: the API server has none of this name. */
  get object(): Node | undefined {
    return this.#parts.store.node(this.#parts.nodeName)
  }

  get localAddresses(): readonly IpAddress[] {
    return this.#local.current
  }

  get context(): NodeContext {
    const { configuration, nodeName } = this.#parts
    const known = { node: this.object, local: this.localAddresses }
    return nodeContext(configuration.current, nodeName, known)
  }

  get nodePortScope(): NodePortScope {
    return nodePortScope(this.#parts.configuration.current.nodePortAddresses, this.object)
  }

  /** What a mode takes its settings from. */
  get modeInputs(): ModeInputs<NodeProxyConfiguration> {
    const { configuration, facts, kernel } = this.#parts
    return {
      config: configuration.current,
      node: this.object,
      facts: { ...facts, routesLocalnet: routesLocalnet(kernel.sysctl) },
      localAddresses: this.localAddresses,
    }
  }

  /** Reads the addresses, and calls back after each change of them. The result ends it. */
  followAddresses(onChange: () => void): Promise<() => void> {
    return this.#local.follow(onChange)
  }
}
